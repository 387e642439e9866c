package eventlog

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
)

// resource is a row of the table of resources below an event, such as
//
//	Partitionable Resources :    Usage  Request Allocated
//	   Cpus                 :     0.05        1         1
//	   GPUs                 :                 1         1 "GPU-1a2b"
//	   Memory (MB)          :       12      128       128
//
// Any number of a row may be left out; those that are there end below the ends of their columns.
type resource struct {
	name                      string
	usage, request, allocated string // "" if it is not given
}

// table returns the rows of the table in the lines below an event.
func table(lines []string) (rows []resource) {
	var columns []word
	for _, line := range lines {
		before, after, found := strings.Cut(line, ":")
		name := strings.TrimSpace(before)
		switch {
		case !found:
			if columns != nil {
				return rows
			}
		case strings.HasSuffix(name, "Resources"):
			columns = words(after)
		case columns != nil:
			name, _, _ = strings.Cut(name, " ")
			rows = append(rows, row(name, after, columns))
		}
	}
	return rows
}

// word is one of a line, and where it ends there.
type word struct {
	text string
	end  int
}

// words cuts a text at its blanks.
func words(text string) (all []word) {
	begin := -1
	for i := 0; i <= len(text); i++ {
		blank := i == len(text) || text[i] == ' ' || text[i] == '\t'
		switch {
		case !blank && begin < 0:
			begin = i
		case blank && begin >= 0:
			all, begin = append(all, word{text[begin:i], i}), -1
		}
	}
	return all
}

// row reads a row of a table with the columns: each number is in the column that ends nearest to it. A
// number with too many digits moves those behind it, but then none is left out.
func row(name, text string, columns []word) resource {
	r := resource{name: name}
	to := map[string]*string{"Usage": &r.usage, "Request": &r.request, "Allocated": &r.allocated}
	numbers := words(text)
	for i, number := range numbers {
		if strings.Trim(number.text, "0123456789.") != "" {
			break
		}
		nearest := columns[min(i, len(columns)-1)]
		if len(numbers) < len(to) {
			for _, column := range columns {
				if distance(column, number) < distance(nearest, number) {
					nearest = column
				}
			}
		}
		if field := to[nearest.text]; field != nil {
			*field = number.text
		}
	}
	return r
}

// distance is how far the ends of two words are from each other.
func distance(a, b word) int { return max(a.end-b.end, b.end-a.end) }

// note adds the rows to what is known of a job, in the terms of its ad.
func note(ad *classad.ClassAd, rows []resource) {
	for _, r := range rows {
		for _, one := range []struct{ name, value string }{
			{"Request" + r.name, r.request}, {r.name + "Provisioned", r.allocated}, {r.name + "Usage", r.usage},
		} {
			if expression, err := classad.ParseExpr(one.value); err == nil && plain(r.name) {
				ad.Set(one.name, expression)
			}
		}
	}
}

// plain reports whether a text can be a part of an attribute's name.
func plain(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	}) < 0
}
