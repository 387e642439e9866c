package backfill

import (
	"fmt"
	"slices"
	"strconv"
)

// Values are a policy's options, complete and checked. To read one that the
// policy does not declare, or not as what it is declared to be, is a mistake in
// the policy and panics.
type Values struct {
	options []Option
	given   map[string]string
}

// Text is a text as it was written.
func (v Values) Text(name string) string {
	_, value := v.read(name, Text)
	return value
}

// Int is a whole number.
func (v Values) Int(name string) int {
	_, value := v.read(name, WholeNumber)
	n, _ := strconv.Atoi(value)
	return n
}

// Number is a number.
func (v Values) Number(name string) float64 {
	_, value := v.read(name, Number)
	x, _ := parseNumber(value)
	return x
}

// Time is a length of time.
func (v Values) Time(name string) Time {
	_, value := v.read(name, LengthOfTime)
	t, _ := ParseTime(value)
	return t
}

// Flag is a flag.
func (v Values) Flag(name string) bool {
	_, value := v.read(name, Flag)
	return value == "true"
}

// Choice is the choice that was made, spelt as the option's Choices are.
func (v Values) Choice(name string) string {
	o, value := v.read(name, Choice)
	return o.Choices[o.choice(value)]
}

// List is the words of a list, or the names of resources.
func (v Values) List(name string) []string {
	_, value := v.read(name, List, Resources)
	return words(value)
}

// read finds an option that is of one of the types, and its value, which suits
// it.
func (v Values) read(name string, types ...OptionType) (Option, string) {
	i := slices.IndexFunc(v.options, func(o Option) bool { return o.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("the policy reads option %q, which it does not declare", name))
	}
	if !slices.Contains(types, v.options[i].Type) {
		panic(fmt.Sprintf("the policy reads its option %q as %s and declares it as %s", name, types[0], v.options[i].Type))
	}
	o := v.options[i]
	value, given := v.given[name]
	if !given {
		value = o.Default
	}
	if err := o.check(value); err != nil { // a default: what is given was checked
		panic(fmt.Sprintf("the policy's option %s=%q %v", name, value, err))
	}
	return o, value
}
