// Package concurrency reads the concurrency limits that jobs name, as HTCondor does.
package concurrency

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limit is an entry of a job's ConcurrencyLimits: the amount that it wants of one limit.
type Limit struct {
	Name   string // in lower case
	Wanted float64
}

// What a job may name of concurrency limits. HTCondor knows no bound; jobs name one or two.
const (
	mostLimits    = 50
	longestLimit  = 200  // bytes of an entry
	longestLimits = 8192 // bytes of them all
)

// Parse reads a job's ConcurrencyLimits, such as "sw_a:2,license.b", as HTCondor does: names
// ignore case; an amount that is missing or not a number above 0 counts as 1; entries with an
// invalid name are ignored. A limit that is named several times is returned once, with the sum. An
// error says that there is more than a job may name; what comes before that is returned.
func Parse(text string) (limits []Limit, err error) {
	if len(text) > longestLimits {
		text = text[:longestLimits]
		err = fmt.Errorf("its ConcurrencyLimits have more than %d bytes: name fewer limits", longestLimits)
	}
	at := map[string]int{} // in limits
	for word := range strings.FieldsFuncSeq(text, IsBetweenWords) {
		if len(word) > longestLimit {
			return limits, fmt.Errorf("one of its ConcurrencyLimits has more than %d bytes, %.20q…: give it a shorter name",
				longestLimit, word)
		}
		name, amount, _ := strings.Cut(strings.ToLower(word), ":")
		if !IsName(name) {
			continue
		}
		i, known := at[name]
		if !known {
			if len(limits) == mostLimits {
				return limits, fmt.Errorf("its ConcurrencyLimits name more than %d limits: name fewer", mostLimits)
			}
			i = len(limits)
			at[name], limits = i, append(limits, Limit{Name: name})
		}
		limits[i].Wanted += wanted(amount)
	}
	return limits, err
}

// wanted returns the number at the start of a text in lower case, as strtod reads it; 1 if there is none above 0.
func wanted(text string) float64 {
	hex := strings.HasPrefix(strings.TrimLeft(text, "+-"), "0x")
	for end := min(len(text), 40); end > 0; end-- {
		number := text[:end]
		if hex && !strings.Contains(number, "p") {
			number += "p0" // which strtod does not need
		}
		if v, err := strconv.ParseFloat(number, 64); err == nil && !math.IsNaN(v) && !strings.Contains(number, "_") {
			if v <= 0 {
				return 1
			}
			return min(v, mostWanted)
		}
	}
	return 1
}

// IsName tells whether a text can be the name of a limit: that of an attribute, or two joined by a dot.
func IsName(s string) bool {
	scope, rest, scoped := strings.Cut(s, ".")
	return IsAttribute(scope) && (!scoped || IsAttribute(rest))
}

// mostWanted bounds the amounts that are read.
const mostWanted = 1e30

// IsBetweenWords tells whether a character is between the words of a list, as HTCondor writes them.
func IsBetweenWords(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }

// IsAttribute reports whether a text can be the name of an attribute.
func IsAttribute(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && s[i] != '_' && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}
