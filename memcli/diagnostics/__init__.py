"""What `mem doctor` and `mem health` look at. `memcli/commands/doctor.py` names every check.

`scene` reads, each thing once; `content`, `installation`, `repository`, `index` and `hooks` turn
what was read into rows; `fixes` is `--fix`. `metrics` and `coherence` are those of `health`.
"""
