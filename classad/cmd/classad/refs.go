package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type refsCommand struct {
	subject
	JSON bool `help:"Print one JSON object." name:"json"`
}

// Help returns what --help adds.
func (*refsCommand) Help() string {
	return `Internal attributes are those that the ad has, with what their own expressions refer to; external ` +
		`ones would have to come from another ad.

Examples:
  classad refs 'TARGET.Memory >= RequestMemory'
  classad refs --ad job.ad --attr Requirements`
}

// references is the result of refs.
type references struct {
	Internal []string `json:"internal"`
	External []string `json:"external"`
}

// Run prints both lists, one per line.
func (c *refsCommand) Run(s streams) error {
	e, ad, err := c.read(s)
	if err != nil {
		return err
	}
	internal, external, err := e.Refs(ad)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.printJSON(references{append([]string{}, internal...), append([]string{}, external...)})
	}
	line := func(title string, names []string) string {
		return strings.TrimRight(title+": "+printable(strings.Join(names, ", ")), " ") + "\n"
	}
	return s.print(line("internal", internal) + line("external", external))
}

// printable escapes what is not printable, as in a quoted name.
func printable(names string) string {
	var b []byte
	for _, r := range names {
		if strconv.IsPrint(r) {
			b = utf8.AppendRune(b, r)
		} else {
			b = fmt.Appendf(b, "\\%03o", r)
		}
	}
	return string(b)
}
