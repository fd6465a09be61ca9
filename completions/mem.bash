# bash completion for mem
# made by python -m tests.docs.generate; static but for ids, because starting Python is slow
# To use it: source this file in ~/.bashrc, or copy it to ~/.local/share/bash-completion/completions/mem

_mem_words() {
    local word
    COMPREPLY=()
    for word in $1; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
    done
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}

_mem_files() {
    local IFS=$'\n'
    COMPREPLY=($(compgen "$1" -- "$cur"))
    compopt -o filenames 2>/dev/null
    return 0
}

_mem_ids() {
    local id
    while read -r id _; do
        [[ ${#id} -eq 8 && $id == "$cur"* ]] && COMPREPLY+=("$id")
    done < <(mem $1 --quiet 2>/dev/null)
}

_mem() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command="" i
    local keys="query= fusion= min_cosine= context= walk= decay= half_life= half_life_by_kind= growth= use_importance= prominence_weight= mmr_lambda= limit= max_tokens= detail= refresh= max_tokens_by_type= level_weights= kind_weights= roots= found= jobs_dir= memory_files= reinforce_mode= compact_after_extract= episodes_keep= contradictions= semantic= consolidate= promote_global= health_min= extract_global= learn= hook_proxy= hook_show= hook_by= sync= inject_min= history= history_days= history_commits= history_mb= embedder= embed_model= embed_url= embed_dimensions= embed_kinds= embed_types= embed_min_importance= llm= llm_replies= model= max_cost= max_cost_day= max_calls= store_url= store_team="
    COMPREPLY=()
    if [[ $cur == = ]]; then # --level=<tab>: bash splits words at =
        cur=""
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} != -* ]]; then
            command=${COMP_WORDS[i]}
            break
        fi
    done
    case $command in
    "")
        _mem_words "recall add edit show list browse retire restore undo told why log forget extract inbox keep drop eval reinforce compact retire-stage health doctor guard sync import export diff init index completion help hook merge-driver mcp --version -V --help -h"
        ;;
    recall)
        case $prev in
        --limit | --max-tokens | --session | --project | --agent | --at | --job | --task | --tag | --since | --until) : ;;
        --format) _mem_words "auto text prompt json" ;;
        --history) _mem_words "auto only off" ;;
        --level) _mem_words "global project job task" ;;
        --type) _mem_words "declarative procedural directive corrective" ;;
        --kind) _mem_words "policy workflow pitfall architecture decision preference fact episode" ;;
        --store) _mem_words "memory institutional proxy archive" ;;
        --scope) _mem_words "observations escalation intent-alignment team session project global prospective in-flight corrective episode interventions" ;;
        --path) _mem_files -f ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--limit --max-tokens --format --explain --ranked --session --history --check --shared --project --agent --at --level --job --task --type --kind --store --tag --scope --path --since --until --proxy --archived --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    add)
        case $prev in
        --level) _mem_words "global project job task" ;;
        --job | --task | --command | --title | --tag | --path | --step | --outcome | --domain | --rests-on) : ;;
        --kind) _mem_words "policy workflow pitfall architecture decision preference fact episode" ;;
        --type) _mem_words "declarative procedural directive corrective" ;;
        --importance) _mem_words "permanent critical high pin medium normal" ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--level --job --task --command --kind --type --title --tag --importance --path --step --outcome --domain --again --rests-on --beside --dry-run -n --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    edit)
        case $prev in
        --title | --body | --tag | --path | --command | --importance | --domain | --rests-on | --task) : ;;
        --kind) _mem_words "policy workflow pitfall architecture decision preference fact episode" ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--title --body --tag --path --command --kind --importance --domain --confirm --rests-on --dry-run -n --task --root --set --json --quiet -q --help -h"; else _mem_ids "list"; fi ;;
        esac
        ;;
    show)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--proxy --raw --root --set --json --quiet -q --help -h"; else _mem_ids "list"; fi ;;
        esac
        ;;
    list)
        case $prev in
        --limit | --at | --job | --task | --tag | --since | --until) : ;;
        --level) _mem_words "global project job task" ;;
        --type) _mem_words "declarative procedural directive corrective" ;;
        --kind) _mem_words "policy workflow pitfall architecture decision preference fact episode" ;;
        --store) _mem_words "memory institutional proxy archive" ;;
        --scope) _mem_words "observations escalation intent-alignment team session project global prospective in-flight corrective episode interventions" ;;
        --path) _mem_files -f ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--limit --explain --at --level --job --task --type --kind --store --tag --scope --path --since --until --proxy --archived --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    browse)
        case $prev in
        --out | --path) _mem_files -f ;;
        --level) _mem_words "global project job task" ;;
        --job | --task | --tag | --since | --until) : ;;
        --type) _mem_words "declarative procedural directive corrective" ;;
        --kind) _mem_words "policy workflow pitfall architecture decision preference fact episode" ;;
        --store) _mem_words "memory institutional proxy archive" ;;
        --scope) _mem_words "observations escalation intent-alignment team session project global prospective in-flight corrective episode interventions" ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--out --history --serve --level --job --task --type --kind --store --tag --scope --path --since --until --proxy --archived --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    retire)
        case $prev in
        --because | --task) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--because --dry-run -n --task --root --set --json --quiet -q --help -h"; else _mem_ids "list"; fi ;;
        esac
        ;;
    restore)
        case $prev in
        --task) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--again --dry-run -n --task --root --set --json --quiet -q --help -h"; else _mem_ids "list --archived"; fi ;;
        esac
        ;;
    undo)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--skip --dry-run -n --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    told)
        case $prev in
        --session) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--session --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    why)
        case $prev in
        --limit) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--limit --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    log)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--root --set --json --quiet -q --help -h"; else _mem_ids "list"; fi ;;
        esac
        ;;
    forget)
        case $prev in
        --session | --before) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--session --before --all --dry-run -n --root --set --json --quiet -q --help -h"; else _mem_ids "list"; fi ;;
        esac
        ;;
    extract)
        case $prev in
        --scope) _mem_words "observations escalation intent-alignment team session project global prospective in-flight corrective episode interventions" ;;
        --engine) _mem_words "auto llm rules" ;;
        --job | --format | --premortem | --checkpoint | --task) : ;;
        --show) _mem_words "sessions turns prompt" ;;
        --assume | --set) _mem_words "$keys" ;;
        --root) _mem_files -d ;;
        *) if [[ $cur == -* ]]; then _mem_words "--scope --engine --all --finished --again --job --format --show --premortem --checkpoint --assume --dry-run -n --task --root --set --json --quiet -q --help -h"; else _mem_files -f; fi ;;
        esac
        ;;
    inbox)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    keep)
        case $prev in
        --title) : ;;
        --kind) _mem_words "policy workflow pitfall architecture decision preference fact episode" ;;
        --level) _mem_words "global project job task" ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--title --kind --level --dry-run -n --root --set --json --quiet -q --help -h"; else _mem_ids "inbox"; fi ;;
        esac
        ;;
    drop)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--dry-run -n --root --set --json --quiet -q --help -h"; else _mem_ids "inbox"; fi ;;
        esac
        ;;
    eval)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    reinforce)
        case $prev in
        --session | --task) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--session --dry-run -n --task --root --set --json --quiet -q --help -h"; else _mem_ids "list"; fi ;;
        esac
        ;;
    compact)
        case $prev in
        --level) _mem_words "global project job task" ;;
        --job | --task) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--due --stale --promote --adopt --check --allow-loss --level --job --dry-run -n --task --root --set --json --quiet -q --help -h"; else _mem_files -f; fi ;;
        esac
        ;;
    retire-stage)
        case $prev in
        --job | --task) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "specification planning design implementation review maintenance unknown --job --check --allow-loss --dry-run -n --task --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    health)
        case $prev in
        --out) _mem_files -f ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--history --out --check --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    doctor)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--fix --online --stale --all -v --dry-run -n --root --set --json --quiet -q --help -h"; else _mem_files -f; fi ;;
        esac
        ;;
    guard)
        case $prev in
        --command | --path | --unless | --try | --task) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) if [[ $cur == -* ]]; then _mem_words "--ask --off --command --path --unless --suggest --try --replay --trust --dry-run -n --task --root --set --json --quiet -q --help -h"; else _mem_ids "list"; fi ;;
        esac
        ;;
    sync)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--git --remove --allow-loss --dry-run -n --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    import)
        case $prev in
        --from) _mem_words "claude agents-md" ;;
        --level) _mem_words "global project job task" ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--from --level --again --dry-run -n --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    export)
        case $prev in
        --out) _mem_files -f ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "claude claude-rules agents-md json --out --raw --remove --dry-run -n --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    diff)
        case $prev in
        --format) _mem_words "text markdown json" ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--format --check --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    init)
        case $prev in
        --from | --learn-with) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--from --git --ci --claude --codex --gemini --opencode --agents --history --all --learn-with --user --shared --remove --trust --dry-run -n --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    index)
        case $prev in
        --from) : ;;
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "--check --rebuild --trust --shared --archived --from --history --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    completion)
        case $prev in
        --root) _mem_files -d ;;
        --set) _mem_words "$keys" ;;
        *) _mem_words "bash zsh fish --root --set --json --quiet -q --help -h" ;;
        esac
        ;;
    help)
        case $prev in
        *) _mem_words "recall add edit show list browse retire restore undo told why log forget extract inbox keep drop eval reinforce compact retire-stage health doctor guard sync import export diff init index completion help hook merge-driver mcp --help -h" ;;
        esac
        ;;
    hook)
        case $prev in
        *) _mem_words "--help -h" ;;
        esac
        ;;
    merge-driver)
        case $prev in
        *) _mem_words "--help -h" ;;
        esac
        ;;
    mcp)
        case $prev in
        --root) _mem_files -d ;;
        *) _mem_words "--root --help -h" ;;
        esac
        ;;
    esac
    return 0
}

complete -F _mem mem
