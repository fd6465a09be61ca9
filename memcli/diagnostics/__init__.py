"""What `mem doctor` and `mem health` look at. `memcli/commands/doctor.py` names every
check."""
