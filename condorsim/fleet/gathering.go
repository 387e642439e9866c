package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// gathering gathers what is to be said of tasks, so that it is said once of many.
type gathering struct {
	texts []string
	names map[string][]string
}

func (g *gathering) add(text, name string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if g.names[text] == nil {
		g.texts = append(g.texts, text)
	}
	g.names[text] = append(g.names[text], name)
}

func (g *gathering) tell(say func(string)) {
	for _, text := range g.texts {
		if names := g.names[text]; len(names) > 1 {
			say(fmt.Sprintf("%s (%s and others): %s", count(len(names)), names[0], text))
		} else {
			say(names[0] + " " + text)
		}
	}
}

func count(cells int) string {
	if cells == 1 {
		return "1 cell"
	}
	return strconv.Itoa(cells) + " cells"
}

// complaint returns the last line of a text that a program begins with its name, else the last line.
func complaint(text, program string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, program+": ") {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
