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
// program's name. Where the program knows no word, bash and fish offer files.
var scripts = map[string]string{ //nolint:gochecknoglobals // never changed
	"bash": `_NAME() { local IFS=$'\n'; COMPREPLY=($(NAME complete -- "${COMP_WORDS[@]:1:COMP_CWORD}")); }
complete -o default -F _NAME NAME
`,
	"zsh": `_NAME() {
  local -a all; all=(${(f)"$(NAME complete -- "${(@)words[2,CURRENT]}")"})
  (( $#all )) && compadd -a all || _files
}
compdef _NAME NAME
`,
	"fish": `complete -c NAME -a '(NAME complete -- (commandline -opc)[2..-1] (commandline -ct))'
`,
}

// Run prints a script for the shell.
func (c *completionCommand) Run(k *kong.Kong) error {
	_, err := fmt.Fprint(k.Stdout, strings.ReplaceAll(scripts[c.Shell], "NAME", k.Model.Name))
	return err
}

// completeCommand is NAME complete, which the scripts call.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words so far; the last one is completed."`
}

// Run prints the words that may stand in place of the last one.
func (c *completeCommand) Run(k *kong.Kong, values Values) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, word := range complete(k.Model.Node, values, words) {
		if _, err := fmt.Fprintln(k.Stdout, word); err != nil {
			return err
		}
	}
	return nil
}

// complete returns the words that may stand in place of the last one.
func complete(node *kong.Node, values Values, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	var needs *kong.Flag // whose value comes next
	positional := 0
	for _, word := range words[:len(words)-1] {
		switch child := childNamed(node, word); {
		case word == "=" && needs != nil: // bash takes --flag=value for three words
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
	if last == "=" {
		last = ""
	}
	name, value, joined := strings.Cut(last, "=")
	flag := flagOf(node, name)
	switch {
	case needs != nil:
		return matching(last, valuesOf(needs.Value, values))
	case joined && flag != nil:
		all := matching(value, valuesOf(flag.Value, values))
		for i, v := range all {
			all[i] = name + "=" + v
		}
		return all
	case strings.HasPrefix(last, "-"):
		return matching(last, flagNames(node))
	}
	var all []string
	for _, child := range node.Children {
		if !child.Hidden {
			all = append(all, child.Name)
		}
	}
	if positional < len(node.Positional) {
		all = append(all, valuesOf(node.Positional[positional], values)...)
	}
	return matching(last, all)
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

func flagNames(node *kong.Node) (names []string) {
	for _, f := range flags(node) {
		names = append(names, "--"+f.Name)
	}
	return names
}

func valuesOf(v *kong.Value, values Values) []string {
	if v.Enum != "" {
		return strings.Split(v.Enum, ",")
	}
	return values[v.Name]
}

// matching are the words with a prefix, in order, each once.
func matching(prefix string, words []string) (found []string) {
	for _, word := range words {
		if strings.HasPrefix(word, prefix) {
			found = append(found, word)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
