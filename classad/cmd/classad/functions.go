package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/condor-backfill/condor-backfill/classad"
)

type functionsCommand struct {
	Markdown bool   `help:"Print the reference documentation as Markdown."`
	JSON     bool   `help:"Print one JSON array." name:"json"`
	Name     string `arg:"" optional:"" help:"Describe this function only; case does not matter."`
}

// Help returns what --help adds.
func (*functionsCommand) Help() string {
	return `Examples:
  classad functions
  classad functions substr
  classad functions --markdown > FUNCTIONS.md`
}

// function is a builtin in the form in which it is printed.
type function struct {
	Name    string `json:"name"`
	Args    string `json:"args"`    // the number of arguments that it takes
	Missing string `json:"missing"` // how it treats undefined and error
	Context bool   `json:"context"` // its value depends on more than its arguments
	Doc     string `json:"doc"`
	Example string `json:"example"` // an expression that is true
}

func newFunction(b classad.Builtin) function {
	args := fmt.Sprintf("%d to %d", b.MinArgs, b.MaxArgs)
	switch b.MaxArgs {
	case b.MinArgs:
		args = strconv.Itoa(b.MinArgs)
	case -1:
		args = fmt.Sprintf("%d or more", b.MinArgs)
	}
	missing := map[classad.Missing]string{
		classad.MissingPasses: "passes on", classad.UndefinedFirst: "undefined first", classad.MissingFails: "error",
		classad.MissingAllowed: "own rule",
	}[b.Missing]
	if b.Lazy {
		missing = "own rule"
	}
	if b.MaxArgs == 0 {
		missing = ""
	}
	return function{Name: b.Name, Args: args, Missing: missing, Context: b.Context, Doc: b.Doc, Example: b.Example}
}

// Run prints all functions or one.
func (c *functionsCommand) Run(s streams) error {
	if c.Markdown && (c.JSON || c.Name != "") {
		return errors.New("--markdown goes with no other argument")
	}
	all := []function{}
	for _, b := range classad.Builtins() {
		if c.Name == "" || strings.EqualFold(b.Name, c.Name) {
			all = append(all, newFunction(b))
		}
	}
	switch {
	case len(all) == 0:
		return fmt.Errorf("there is no function %s; classad functions lists all", c.Name)
	case c.JSON:
		return s.printJSON(all)
	case c.Markdown:
		return s.print(markdown(all))
	case c.Name != "":
		return s.print(all[0].String())
	}
	t := newTable("function", "args", "undefined or error", "what it does")
	for _, f := range all {
		t.AppendRow(table.Row{f.Name, f.Args, f.Missing, f.Doc})
	}
	return s.print(rendered(t))
}

// String describes one function.
func (f function) String() string {
	text := f.Name + ": " + f.Doc + "\narguments: " + f.Args + "\n"
	if f.Missing != "" {
		text += "undefined or error: " + f.Missing + "\n"
	}
	if f.Context {
		text += "depends on more than its arguments\n"
	}
	return text + "example: " + f.Example + "\n"
}

const preface = `# Functions

The functions of the ClassAd language, as this package has them. ` +
	"`classad functions --markdown`" + ` writes this file.

Names ignore case. Another number of arguments than given is error, and so is an argument of a wrong type. What
undefined and error as arguments give: *passes on* is error if there is an error, else undefined; *error* is error in
both cases; *own rule* is what the description says. The value of a function with a ° depends on more than its
arguments: on names, the clock, chance, a time zone or the host. Every example is true.

| function | arguments | undefined or error | what it does | example |
|---|---|---|---|---|
`

func markdown(all []function) string {
	var b strings.Builder
	b.WriteString(preface)
	cell := strings.NewReplacer("|", `\|`)
	for _, f := range all {
		mark := ""
		if f.Context {
			mark = "°"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | %s | %s | `%s` |\n", f.Name, mark, f.Args, f.Missing, cell.Replace(f.Doc),
			cell.Replace(f.Example))
	}
	return b.String()
}
