"""What `mem doctor` looks at, by subject. `memcli/commands/doctor.py` names every check and its
function.

`scene` and `facts` read, each thing once; `content`, `installation`, `repository`, `index`,
`providers`, `leftovers`, `hooks` and `neighbours` turn what was read into rows; `mending` is
`--fix`.
"""
