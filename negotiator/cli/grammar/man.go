package grammar

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// manCommand is NAME man.
type manCommand struct{}

// Run prints the page of the manual, made from what --help prints.
func (manCommand) Run(k *kong.Kong) error {
	_, err := io.WriteString(k.Stdout, manPage(k.Model))
	return err
}

// manPage is a page for man, in the language of troff.
func manPage(app *kong.Application) string {
	var b strings.Builder
	what, about, _ := strings.Cut(app.Help, "\n")
	_, _ = fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n", strings.ToUpper(app.Name), app.Name,
		troff(what), troff(app.Name+app.Summary()))
	_, _ = fmt.Fprintf(&b, ".SH DESCRIPTION\n%s.SH COMMANDS\n", verbatim(about))
	for _, node := range app.Leaves(true) {
		_, _ = fmt.Fprintf(&b, ".SS %s\n%s\n", troff(app.Name+" "+node.Summary()), troff(node.Help))
		for _, arg := range node.Positional {
			_, _ = fmt.Fprintf(&b, ".TP\n%s\n%s\n", troff(arg.Summary()), troff(arg.Help))
		}
		for _, f := range node.Flags {
			if !f.Hidden {
				_, _ = fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", troff(f.String()), troff(f.Help))
			}
		}
		b.WriteString(verbatim(node.Detail))
	}
	return b.String()
}

// troff is a text in which nothing is a command to troff.
func troff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// verbatim is a text whose lines stay as they are.
func verbatim(text string) string {
	text = strings.Trim(text, "\n")
	if text == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(".PP\n.nf\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(troff(line) + "\n")
	}
	return b.String() + ".fi\n"
}
