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
// The numbers of a row stand below the last columns: it is the first ones that are left out.
type resource struct {
	name                      string
	usage, request, allocated string // "" if it is not given
}

// table returns the rows of the table in the lines below an event.
func table(lines []string) (rows []resource) {
	columns := 0
	for _, line := range lines {
		before, after, found := strings.Cut(line, ":")
		name := strings.TrimSpace(before)
		switch {
		case !found:
			if columns > 0 {
				return rows
			}
		case strings.HasSuffix(name, "Resources"):
			columns = 0
			for column := range strings.FieldsSeq(after) {
				if column != "Assigned" {
					columns++
				}
			}
		case columns > 0:
			name, _, _ = strings.Cut(name, " ")
			rows = append(rows, row(name, after, columns))
		}
	}
	return rows
}

// row reads a row of a table with so many columns of numbers.
func row(name, text string, columns int) resource {
	r := resource{name: name}
	var numbers []string
	for field := range strings.FieldsSeq(text) {
		if len(numbers) == columns || strings.Trim(field, "0123456789.") != "" {
			break
		}
		numbers = append(numbers, field)
	}
	to := []*string{&r.usage, &r.request, &r.allocated}
	to = to[:min(columns, len(to))]
	for i := range min(len(numbers), len(to)) {
		*to[len(to)-1-i] = numbers[len(numbers)-1-i]
	}
	return r
}

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
