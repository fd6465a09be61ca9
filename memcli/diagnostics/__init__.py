"""What `mem doctor` and `mem health` look at, by subject; `memcli/commands/doctor.py` names every check."""
