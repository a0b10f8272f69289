"""Learning: policies trained on the engagement file itself. Needs torch, from the extra [train]."""
