package backfill

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Option describes one setting of a policy, as given with --policy-opt.
type Option struct {
	Name, Default, Doc string
	// Type is the syntax of the values.
	Type OptionType
	// Range bounds a number, or a length of time in seconds.
	Range Range
	// Choices lists the allowed words of a Choice.
	Choices []string
	// Check returns an error for a value that the type allows and the policy does not; nil allows
	// all. It runs only in the process of the policy and is not sent to others.
	Check func(value string) error
}

// OptionType is the syntax of an option's values.
type OptionType uint8

// The types of options.
const (
	// Text is any text.
	Text OptionType = iota
	// WholeNumber is a whole number in decimal digits.
	WholeNumber
	// Number is a decimal number; a fraction and an exponent are allowed.
	Number
	// LengthOfTime is a duration in the syntax of [ParseTime].
	LengthOfTime
	// Flag is true or false.
	Flag
	// Choice is one of the option's Choices; case does not matter.
	Choice
	// List is a list of words, separated by commas or spaces.
	List
	// Resources is a list of names of the pool's resources. A policy is created before the pool is
	// known, so these names are checked later, with [PolicySpec.CheckResources].
	Resources
)

// optionTypes are the names of the types, by [OptionType].
var optionTypes = [...]string{
	Text: "text", WholeNumber: "whole number", Number: "number", LengthOfTime: "length of time",
	Flag: "flag", Choice: "choice", List: "list", Resources: "resources",
}

func (t OptionType) String() string {
	if int(t) < len(optionTypes) {
		return optionTypes[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Range is the interval from Low to High, both included. The zero value does not limit anything.
// Use [AtLeast] and [AtMost] for an interval with one bound.
type Range struct{ Low, High float64 }

// AtLeast is the range from low upwards.
func AtLeast(low float64) Range { return Range{low, math.Inf(1)} }

// AtMost is the range up to high.
func AtMost(high float64) Range { return Range{math.Inf(-1), high} }

// Bounds returns Low and High; a missing bound is nil.
func (r Range) Bounds() (low, high *float64) {
	if r != (Range{}) && !math.IsInf(r.Low, -1) {
		low = &r.Low
	}
	if r != (Range{}) && !math.IsInf(r.High, 1) {
		high = &r.High
	}
	return low, high
}

// holds reports whether a number is in the range.
func (r Range) holds(x float64) bool { return r == Range{} || r.Low <= x && x <= r.High }

// words returns the range as the continuation of "a number", or "" if it has no bounds.
func (r Range) words() string {
	switch low, high := r.Bounds(); {
	case low == nil && high == nil:
		return ""
	case high == nil:
		return " of at least " + plainNumber(*low)
	case low == nil:
		return " of at most " + plainNumber(*high)
	default:
		return " from " + plainNumber(*low) + " to " + plainNumber(*high)
	}
}

func plainNumber(x float64) string {
	if math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// Accepts describes the valid values, as the continuation of "must be".
func (o Option) Accepts() string {
	switch o.Type {
	case WholeNumber, Number:
		return "a " + o.Type.String() + o.Range.words()
	case LengthOfTime:
		if bounds := o.Range.words(); bounds != "" {
			return timeForms + "," + bounds + " seconds"
		}
		return timeForms
	case Flag:
		return "true or false"
	case Choice:
		return "one of " + strings.Join(o.Choices, ", ")
	case List:
		return "words, separated by commas"
	case Resources:
		return "names of resources, separated by commas"
	default:
		return "text"
	}
}

// check returns an error if a value is not valid for the option.
func (o Option) check(value string) error {
	fits := true
	switch o.Type {
	case WholeNumber:
		n, err := strconv.Atoi(value)
		fits = err == nil && o.Range.holds(float64(n))
	case Number:
		x, err := parseNumber(value)
		fits = err == nil && o.Range.holds(x)
	case LengthOfTime:
		t, err := ParseTime(value)
		if err != nil {
			return err
		}
		fits = o.Range.holds(float64(t))
	case Flag:
		fits = value == "true" || value == "false"
	case Choice:
		fits = o.choice(value) >= 0
	default:
	}
	if !fits {
		return errors.New("must be " + o.Accepts())
	}
	if o.Check != nil {
		return o.Check(value)
	}
	return nil
}

// choice returns the index of the value in Choices, ignoring case, or -1 if it is not among them.
func (o Option) choice(value string) int {
	return slices.IndexFunc(o.Choices, func(word string) bool { return strings.EqualFold(word, value) })
}

// words splits a list of words at commas and spaces, but not between double quotes, which are dropped.
func words(value string) []string {
	quoted := false
	all := strings.FieldsFunc(value, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ',' || r == ' ')
	})
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], `"`, "")
	}
	return slices.DeleteFunc(all, func(word string) bool { return word == "" })
}

// parseNumber parses a finite decimal number. It rejects the other forms that Go accepts, such as
// "inf" or hexadecimal digits, because they would surprise plugins written in other languages.
func parseNumber(text string) (float64, error) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}

const timeForms = "a number of seconds, or a length of time as [[DD:]HH:]MM:SS"

// ParseTime parses a duration, given in seconds or as [[DD:]HH:]MM:SS.
func ParseTime(text string) (Time, error) {
	const bits = 41 // enough for the longest duration; the sum cannot overflow
	parts := strings.Split(text, ":")
	units := []uint64{86400, 3600, 60, 1}
	var sum uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, bits)
		if err != nil || len(parts) > len(units) {
			return 0, errors.New("must be " + timeForms)
		}
		sum += n * units[len(units)-len(parts)+i]
	}
	if sum > uint64(MaxTime) {
		return 0, fmt.Errorf("must be at most %d seconds", MaxTime)
	}
	return Time(sum), nil
}

// DidYouMean returns the end of an error message about an unknown name: a suggestion of the known
// name that is most similar, or "" if none is similar.
func DidYouMean(written string, known []string) string {
	if meant := nearest(written, known); meant != "" {
		return ", did you mean " + meant + "?"
	}
	return ""
}

// nearest returns the most similar name, ignoring case; the first one if several are equally
// similar. It returns "" if more than half of the written letters would have to change.
func nearest(written string, names []string) string {
	const longest = 40 // anything longer is not a misspelt name
	if len(written) > longest {
		return ""
	}
	written = strings.ToLower(written)
	best, least := "", (len(written)+1)/2+1
	for _, name := range names {
		if d := distance(written, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance returns how many letters must be inserted, deleted, replaced or swapped with their
// neighbour to turn one text into the other (optimal string alignment).
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	d := make([][]int, len(from)+1) // [i][j]: between the first i and the first j letters
	for i := range d {
		d[i] = make([]int, len(to)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			replaced := d[i-1][j-1]
			if from[i-1] != to[j-1] {
				replaced++
			}
			d[i][j] = min(replaced, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(from)][len(to)]
}
