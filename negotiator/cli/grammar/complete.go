package grammar

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Values are what the value of a flag may be, by the flag's name, where its enum does not say so.
type Values map[string][]string

// Apply makes Values a [kong.Option].
func (v Values) Apply(k *kong.Kong) error { return kong.Bind(v).Apply(k) }

// completionCommand is NAME completion.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// scripts ask the program itself, so that they need no change when its flags change. NAME is the
// program's name. Where the program knows no word, they offer files. In zsh and fish each word has a
// description behind a tab. zsh gets words and what it shows of them in two lists: nothing in them
// needs quotes then.
var scripts = map[string]string{ //nolint:gochecknoglobals // never changed
	"bash": `_NAME() { local IFS=$'\n'; COMPREPLY=($(NAME complete -- "${COMP_WORDS[@]:1:COMP_CWORD}")); }
complete -o default -F _NAME NAME
`,
	"zsh": `#compdef NAME
_NAME() {
  local line
  local -a lines all shown
  lines=(${(f)"$(NAME complete --described -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")"})
  if (( ! $#lines )); then
    compset -P '--*='
    _files
    return
  fi
  for line in $lines; do
    all+=("${line%%$'\t'*}")
    shown+=("${line/$'\t'/  -- }")
  done
  compadd -l -d shown -a all
}
if [[ $funcstack[1] == _NAME ]]; then _NAME "$@"; else compdef _NAME NAME; fi
`,
	"fish": `function __NAME_words
  NAME complete --described -- (commandline -opc)[2..-1] "$(commandline -ct)"
end
complete -c NAME -n 'count (__NAME_words) >/dev/null' -f -a '(__NAME_words)'
`,
}

// Run prints a script for the shell.
func (c *completionCommand) Run(k *kong.Kong) error {
	_, err := fmt.Fprint(k.Stdout, strings.ReplaceAll(scripts[c.Shell], "NAME", k.Model.Name))
	return err
}

// completeCommand is NAME complete, which the scripts call.
type completeCommand struct {
	Described bool     `help:"Print what each word is behind a tab."`
	Words     []string `arg:"" optional:"" passthrough:"" help:"The words so far; the last one is completed."`
}

// Run prints the words that may stand in place of the last one.
func (c *completeCommand) Run(k *kong.Kong, values Values) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, found := range complete(k.Model.Node, values, words) {
		text := found.text
		if c.Described && found.about != "" {
			text += "\t" + found.about
		}
		if _, err := fmt.Fprintln(k.Stdout, text); err != nil {
			return err
		}
	}
	return nil
}

// word is a word that may stand somewhere, and what it is.
type word struct{ text, about string }

// complete returns the words that may stand in place of the last one.
func complete(node *kong.Node, values Values, words []string) []word {
	words, there := whole(words)
	var needs *kong.Flag // whose value comes next
	positional := 0
	for _, word := range words[:len(words)-1] {
		switch child := childNamed(node, word); {
		case needs != nil:
			needs = nil
		case strings.HasPrefix(word, "-"):
			needs = flagOf(node, word)
		case child != nil:
			node, positional = child, 0
		default:
			positional++
		}
	}
	last := words[len(words)-1]
	name, _, joined := strings.Cut(last, "=")
	flag := flagOf(node, name)
	var all []word
	switch {
	case needs != nil:
		all = valuesOf(needs.Value, values)
	case joined && flag != nil:
		for _, v := range valuesOf(flag.Value, values) {
			all = append(all, word{name + "=" + v.text, v.about})
		}
	case strings.HasPrefix(last, "-"):
		for _, f := range flags(node) {
			all = append(all, word{"--" + f.Name, about(f.Help)})
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				all = append(all, word{child.Name, about(child.Help)})
			}
		}
		if positional < len(node.Positional) {
			all = append(all, valuesOf(node.Positional[positional], values)...)
		}
	}
	return matching(last, there, all)
}

// whole returns words as they were typed. bash makes three words of one at = and at a colon, and
// completes only the last of them: there is what stands before it.
func whole(words []string) (all []string, there string) {
	if len(words) == 0 {
		return []string{""}, ""
	}
	glued := false
	for _, word := range words {
		mark := word == "=" || word == ":"
		if len(all) == 0 || !mark && !glued {
			all, there = append(all, word), ""
		} else {
			if there = all[len(all)-1]; mark {
				there += word
			}
			all[len(all)-1] += word
		}
		glued = mark && len(all) > 0
	}
	return all, there
}

// about returns the first sentence of a help text, in one line without its full stop.
func about(help string) string {
	text := strings.Join(strings.Fields(help), " ")
	if first, _, more := strings.Cut(text, ". "); more {
		return first
	}
	return strings.TrimSuffix(text, ".")
}

func childNamed(node *kong.Node, name string) *kong.Node {
	i := slices.IndexFunc(node.Children, func(c *kong.Node) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return node.Children[i]
}

// flags are those that a command takes, with those of its parents, and of the command that runs
// where none is named.
func flags(node *kong.Node) (all []*kong.Flag) {
	if node.DefaultCmd != nil {
		all = append(all, node.DefaultCmd.Flags...)
	}
	for ; node != nil; node = node.Parent {
		all = append(all, node.Flags...)
	}
	return slices.DeleteFunc(all, func(f *kong.Flag) bool { return f.Hidden })
}

// flagOf is the flag that a word names, if it takes a value.
func flagOf(node *kong.Node, word string) *kong.Flag {
	for _, f := range flags(node) {
		if !f.IsBool() && (word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short)) {
			return f
		}
	}
	return nil
}

func valuesOf(v *kong.Value, values Values) (all []word) {
	names := values[v.Name]
	if v.Enum != "" {
		names = strings.Split(v.Enum, ",")
	}
	for _, name := range names {
		all = append(all, word{text: name})
	}
	return all
}

// matching are the words that begin as the last one, in order, each once, without what is there
// already.
func matching(last, there string, words []word) (found []word) {
	for _, w := range words {
		if text, ok := strings.CutPrefix(w.text, there); ok && strings.HasPrefix(w.text, last) {
			found = append(found, word{text, w.about})
		}
	}
	slices.SortFunc(found, func(a, b word) int { return strings.Compare(a.text, b.text) })
	return slices.CompactFunc(found, func(a, b word) bool { return a.text == b.text })
}
