package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Texts are help texts that are too long for a field's tag, by name. The tag of a command, flag or
// argument names its text: help:"${run_order}". They are put in place once: as [kong.Vars] each of
// them would be expanded for each flag, which takes longer than all else that a command does at its
// start.
type Texts map[string]string

// Apply puts the texts in place. It makes Texts a [kong.Option].
func (t Texts) Apply(k *kong.Kong) error {
	return kong.PostBuild(func(k *kong.Kong) error {
		return kong.Visit(k.Model, func(node kong.Visitable, next kong.Next) error {
			switch node := node.(type) {
			case *kong.Value:
				node.Help = t.text(node.Help)
			case *kong.Node:
				node.Help = t.text(node.Help)
			}
			return next(nil)
		})
	}).Apply(k)
}

func (t Texts) text(help string) string {
	name, isName := strings.CutPrefix(help, "${")
	if text, known := t[strings.TrimSuffix(name, "}")]; isName && known {
		return text
	}
	return help
}
