package backfill

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Option is one thing about a policy that can be set with --policy-opt.
type Option struct {
	Name, Default, Doc string
	// Type says what values look like.
	Type OptionType
	// Range bounds a number or a length of time, which is in seconds.
	Range Range
	// Choices are the words of a choice.
	Choices []string
	// Check refuses a value for what the type cannot say; nil accepts any. It stays
	// with the policy: no other process is told of it.
	Check func(value string) error
}

// OptionType is what the values of an option look like.
type OptionType uint8

// The types of options.
const (
	// Text is any text.
	Text OptionType = iota
	// WholeNumber is a whole number in decimal digits.
	WholeNumber
	// Number is a decimal number, perhaps with a fraction or an exponent.
	Number
	// LengthOfTime is what [ParseTime] reads.
	LengthOfTime
	// Flag is true or false.
	Flag
	// Choice is one of the option's Choices, in whatever case.
	Choice
	// List is a list of words, separated by commas or spaces.
	List
	// Resources is a list of names of the pool's resources. A policy is made before
	// it sees a pool, so who knows both checks them, with [Spec.CheckResources].
	Resources
)

// optionTypes are the names of the types.
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

// Range is from Low to High, both included. The zero value does not bound; to
// bound on one side is for [AtLeast] and [AtMost].
type Range struct{ Low, High float64 }

// AtLeast is the range from low upwards.
func AtLeast(low float64) Range { return Range{low, math.Inf(1)} }

// AtMost is the range up to high.
func AtMost(high float64) Range { return Range{math.Inf(-1), high} }

// Bounds are Low and High, each nil where there is no such bound.
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

// words are how the range goes on after "a number"; none if it does not bound.
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

// Accepts says which values are right, as in "must be" with these words.
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

// check refuses a value that does not suit the option.
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

// choice is the index of the choice that is meant; -1 if it is none.
func (o Option) choice(value string) int {
	return slices.IndexFunc(o.Choices, func(word string) bool { return strings.EqualFold(word, value) })
}

// words splits a list.
func words(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// parseNumber reads a finite decimal number. What else Go takes for one, in words
// or with the digits of other bases, would surprise plugins in other languages.
func parseNumber(text string) (float64, error) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}

const timeForms = "a number of seconds, or a length of time as [[DD:]HH:]MM:SS"

// ParseTime reads a length of time in seconds, or as [[DD:]HH:]MM:SS.
func ParseTime(text string) (Time, error) {
	const bits = 41 // hold the longest, and are too few for the sum to overflow
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
	if sum > uint64(maxEstimate) {
		return 0, fmt.Errorf("must be at most %d seconds", maxEstimate)
	}
	return Time(sum), nil
}
