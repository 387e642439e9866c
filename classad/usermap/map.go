package usermap

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/internal/pcre"
)

// Usual is the method of a map's lines unless userMap names another one.
const Usual = "*"

// Map is a map that was read. It never changes and is safe for concurrent use.
type Map struct {
	methods map[string][]table // by method, in lower case; in the order of the lines
	sum     [32]byte           // of the texts
	wrong   []*LineError
	more    int // how many more there were
}

// Warnings says of each line that was left out, or has something that counts for nothing, what is wrong;
// of very many, of the first and how many there are besides.
func (m *Map) Warnings() (warnings []string) {
	for _, e := range m.wrong {
		warnings = append(warnings, e.Error())
	}
	if m.more > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: and %d more lines are wrong", m.wrong[0].File, m.more))
	}
	return warnings
}

// table is one or several lines of one method.
type table interface {
	// find returns what a name is mapped to, and the texts for \0, \1 and so on. It takes what it
	// costs from the budget.
	find(name string, budget *int) (to string, groups []string, ok bool)
}

// What a search costs, in steps of an evaluation.
const (
	// bytesPerStep is how much text is compared or copied in a step.
	bytesPerStep = 16
	// stepsPerTable is for looking at a table.
	stepsPerTable = 2
	// searchStepsPerStep is how many steps of a regular expression count as one.
	searchStepsPerStep = 3
	// mostSteps bounds the search with one regular expression.
	mostSteps = 1_000_000
)

// Find returns what a name is mapped to by the lines of a method; false if no line matches. It takes
// the steps that the search needs from the budget, and gives up with a budget below zero if they do
// not suffice.
func (m *Map) Find(method, name string, budget *int) (items string, ok bool) {
	for _, t := range m.methods[strings.ToLower(method)] {
		if *budget -= stepsPerTable; *budget < 0 {
			return "", false
		}
		to, groups, found := t.find(name, budget)
		if *budget < 0 {
			return "", false
		}
		if found {
			return fill(to, groups, budget)
		}
	}
	return "", false
}

// fill puts texts in the place of \0, \1 and so on, as far as there are so many groups.
func fill(to string, groups []string, budget *int) (filled string, ok bool) {
	if !strings.Contains(to, `\`) {
		return to, true
	}
	var b strings.Builder
	for i := 0; i < len(to); i++ {
		part := to[i : i+1]
		if to[i] == '\\' && i+1 < len(to) {
			if n := int(to[i+1]) - '0'; n >= 0 && n < len(groups) && n <= 9 {
				part = groups[n]
			} else {
				part = to[i : i+2]
			}
			i++
		}
		if *budget -= 1 + len(part)/bytesPerStep; *budget < 0 {
			return "", false
		}
		b.WriteString(part)
	}
	return b.String(), true
}

// literals are lines next to each other whose principals are texts.
type literals map[string]string

func (l literals) find(name string, budget *int) (to string, groups []string, ok bool) {
	*budget -= 2 * len(name) / bytesPerStep
	to, ok = l[name]
	return to, []string{name}, ok
}

// prefixes are lines next to each other whose principals are beginnings of names.
type prefixes struct {
	to      map[string]string
	lengths []int // of the prefixes, the longest first, each once
}

func (p *prefixes) add(prefix, to string) {
	if _, known := p.to[prefix]; known {
		return
	}
	p.to[prefix] = to
	longestFirst := func(a, b int) int { return b - a }
	if at, known := slices.BinarySearchFunc(p.lengths, len(prefix), longestFirst); !known {
		p.lengths = slices.Insert(p.lengths, at, len(prefix))
	}
}

func (p *prefixes) find(name string, budget *int) (to string, groups []string, ok bool) {
	for _, n := range p.lengths {
		if n > len(name) {
			continue
		}
		if *budget -= stepsPerTable + 2*n/bytesPerStep; *budget < 0 {
			return "", nil, false
		}
		if to, ok = p.to[name[:n]]; ok {
			return to, []string{name[:n]}, true
		}
	}
	return "", nil, false
}

// pattern is a line whose principal is a regular expression.
type pattern struct {
	*pcre.Regexp
	to string
}

// find searches for the pattern anywhere in a name. A search that calls itself without end finds
// nothing, as in HTCondor.
func (p *pattern) find(name string, budget *int) (to string, groups []string, ok bool) {
	most := (min(*budget, mostSteps) + 1) * searchStepsPerStep
	left, caps := most, make([]int, 2*(1+p.Groups()))
	ok, err := p.Match(name, 0, pcre.Anywhere, caps, &left)
	if errors.Is(err, pcre.ErrBudget) {
		*budget = -1
		return "", nil, false
	}
	*budget -= (most-left)/searchStepsPerStep + len(caps)/bytesPerStep
	if !ok || err != nil {
		return "", nil, false
	}
	return p.to, captured(name, caps), true
}

// captured returns the texts of the groups, up to the last that took part in the match.
func captured(name string, caps []int) (groups []string) {
	n := 0
	for i := 0; i < len(caps); i += 2 {
		text := ""
		if from, to := caps[i], caps[i+1]; from >= 0 {
			n = i/2 + 1
			text = name[from:max(from, to)]
		}
		groups = append(groups, text)
	}
	return groups[:n]
}
