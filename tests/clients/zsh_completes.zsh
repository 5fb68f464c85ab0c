# Completes a line in a zsh on a terminal of its own, as a person has it completed by Tab, and prints the line that comes of it.
#
# usage: ZSH=program ZSH_MODULES=folder COMPLETIONS=script zsh -f zsh_completes.zsh LINE

# A zsh of an unpacked package would look for its modules in the machine; the environment cannot tell it where they are.
module_path=($ZSH_MODULES)

# The one on the terminal.
if [[ -o interactive ]]; then
    autoload -Uz compinit
    compinit -D -u
    source $COMPLETIONS
    show() {
        print -r -- "<$BUFFER>"
        exit
    }
    zle -N show
    bindkey '^I' complete-word
    bindkey '^T' show
    PROMPT=READY
    return
fi

zmodload zsh/zpty
zpty shell ${(q)ZSH} -f -i
zpty -w shell "source ${(q)0}"
zpty -r shell seen '*READY*'
zpty -w -n shell "$1"$'\t\x14'
zpty -r shell seen '*<*>*'
print -r -- "${${seen##*<}%%>*}"
