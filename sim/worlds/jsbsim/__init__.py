"""JSBSim behind the fixed-wing world, one concept per file.

From the aircraft outwards: ``library`` (the package, silenced), ``properties`` (one table, SI units), ``initial``
(conditions at the start), ``air`` (wind, turbulence), ``aircraft`` (an executive and its limits), ``profiles`` and
``identify`` (how a type answers its controls), ``autopilot``, ``frames`` (geodesy), ``flight`` (one agent), ``fleet``
(a batch), ``pool`` and ``worker`` (processes), ``spec`` and ``setting`` (the engagement file).
"""
