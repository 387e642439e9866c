package access

import (
	"fmt"
	"strings"
	"sync"
)

// Names says whose names viewers see.
type Names string

// Whose names are seen: everybody's, those of the viewer himself, nobody's.
const (
	All  Names = "all"
	Own  Names = "own"
	None Names = "none"
)

// mostAliases bounds how many pseudonyms are remembered; who comes later is "another user".
const mostAliases = 1 << 17

// Aliases gives pseudonyms to users and groups, which stay as long as the process lives. It is safe
// for concurrent use.
type Aliases struct {
	names Names

	mu            sync.Mutex
	users, groups map[string]string
	words         map[string]word // what stands for a user or a group in a text
	odd           []string        // names that are no word, in the order in which they came
	jobs          int             // names of jobs among the words
	tooOdd        bool            // there are more of them than are looked for
}

// NewAliases returns pseudonyms for everybody whose name is not to be seen.
func NewAliases(names Names) *Aliases {
	return &Aliases{names: names, users: map[string]string{}, groups: map[string]string{}, words: map[string]word{}}
}

// Names says whose names are seen.
func (a *Aliases) Names() Names { return a.names }

// Alias returns a user's pseudonym, whoever looks; his name if everybody's is seen. Two users never
// have the same, unless there are more than any pool has.
func (a *Aliases) Alias(user string) string { return a.alias("user", a.users, user) }

// GroupAlias returns the same for a group.
func (a *Aliases) GroupAlias(group string) string { return a.alias("group", a.groups, group) }

func (a *Aliases) alias(kind string, known map[string]string, name string) string {
	if a.names == All || name == "" {
		return name
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	alias := known[name]
	switch {
	case alias != "":
	case len(known) >= mostAliases:
		return "another " + kind
	default:
		alias = fmt.Sprintf("%s %d", kind, len(known)+1)
		known[strings.Clone(name)] = alias
		a.note(strings.Clone(name), alias)
	}
	return alias
}

// Everyone is the lens of what all viewers get alike, such as events: under [Own] it shows no names.
// The page puts in the viewer's own, whose pseudonym it is told.
func (a *Aliases) Everyone() Lens { return Lens{a: a} }

// For returns what a viewer may read.
func (a *Aliases) For(v Viewer) Lens {
	if a.names != Own {
		v = Viewer{}
	}
	return Lens{a, v}
}

// Lens shows names as one viewer may read them. Whoever filters, searches or sorts for a viewer does
// so by what the lens shows: else the answer would tell what it hides.
type Lens struct {
	a      *Aliases
	viewer Viewer
}

// Clear reports whether nothing is hidden.
func (l Lens) Clear() bool { return l.a.names == All }

// Owns reports whether the viewer sees a user's name because it is his own.
func (l Lens) Owns(user string) bool { return l.viewer.is(user) }

// User returns a user's name, or his pseudonym.
func (l Lens) User(user string) string {
	alias := l.a.Alias(user) // also of the viewer: texts about others may name him
	if l.Owns(user) {
		return user
	}
	return alias
}

// Group returns the name of the accounting group that a user's job is in, or its pseudonym. The
// viewer knows the groups of his own jobs.
func (l Lens) Group(user, group string) string {
	alias := l.a.GroupAlias(group)
	if l.Owns(user) {
		return group
	}
	return alias
}

// Job returns a job's name. The usual ones are numbers and stay; if one is a text that a user chose,
// others get its number in the list of jobs; a negative one is not known.
func (l Lens) Job(user, name string, id int64) string {
	if l.Clear() || l.Owns(user) || isNumber(name) {
		return name
	}
	alias := "a job"
	if id >= 0 {
		alias = fmt.Sprintf("#%d", id)
	}
	l.a.noteJob(user, name, alias)
	return alias
}

// Behind returns the name of a job of which only that is known.
func (l Lens) Behind(name string) string {
	if name == "" {
		return ""
	}
	return l.Job("", name, -1)
}

// isNumber reports whether a job's name is made of numbers alone, such as 12.0 or 12[3].
func isNumber(name string) bool {
	return name != "" && strings.Trim(name, "0123456789.[]_-#") == ""
}
