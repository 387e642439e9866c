package backfill

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Values are the checked values of the options of a policy, or of whatever else has options,
// defaults included. Reading an option that is not declared, or not as the type that it is declared
// with, is a bug and panics.
type Values struct {
	whose   string
	options []Option
	given   map[string]string
}

// ReadOptions checks the given values against the declared options; the options that are not given
// have their defaults. An error is an [*OptionsError] that names the owner of the options: the
// parameter whose, such as "policy easy".
func ReadOptions(whose string, options []Option, given map[string]string) (Values, error) {
	known := make([]string, len(options))
	for i, o := range options {
		known[i] = o.Name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(known, name)
		if i < 0 {
			return Values{}, &OptionsError{Err: fmt.Errorf("%s has no option %q%s: %s", whose, name,
				DidYouMean(name, known), describeKnown(known))}
		}
		if err := options[i].check(given[name]); err != nil {
			return Values{}, &OptionsError{Err: fmt.Errorf("%s: option %s=%q %w", whose, name, given[name], err)}
		}
	}
	return Values{whose: whose, options: options, given: maps.Clone(given)}, nil
}

func describeKnown(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}

// Text returns the value of a [Text] option as it was written.
func (v Values) Text(name string) string {
	_, value := v.read(name, Text)
	return value
}

// Int returns the value of a [WholeNumber] option.
func (v Values) Int(name string) int {
	_, value := v.read(name, WholeNumber)
	n, _ := strconv.Atoi(value)
	return n
}

// Number returns the value of a [Number] option.
func (v Values) Number(name string) float64 {
	_, value := v.read(name, Number)
	x, _ := parseNumber(value)
	return x
}

// Time returns the value of a [LengthOfTime] option, in seconds.
func (v Values) Time(name string) Time {
	_, value := v.read(name, LengthOfTime)
	t, _ := ParseTime(value)
	return t
}

// Flag returns the value of a [Flag] option.
func (v Values) Flag(name string) bool {
	_, value := v.read(name, Flag)
	return value == "true"
}

// Choice returns the value of a [Choice] option, spelt as in the option's Choices.
func (v Values) Choice(name string) string {
	o, value := v.read(name, Choice)
	return o.Choices[o.choice(value)]
}

// List returns the words of a [List] option, or the names of resources of a [Resources] option.
func (v Values) List(name string) []string {
	_, value := v.read(name, List, Resources)
	return words(value)
}

// read returns the named option and its value, given or default. It panics if no such option is
// declared, if its type is none of the given types, or if its default is invalid.
func (v Values) read(name string, types ...OptionType) (Option, string) {
	i := slices.IndexFunc(v.options, func(o Option) bool { return o.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("%s reads option %q, which it does not declare", v.whose, name))
	}
	if !slices.Contains(types, v.options[i].Type) {
		panic(fmt.Sprintf("%s reads its option %q as %s and declares it as %s", v.whose, name, types[0],
			v.options[i].Type))
	}
	o := v.options[i]
	value, given := v.given[name]
	if !given {
		value = o.Default
	}
	if err := o.check(value); err != nil { // a default: what is given was checked
		panic(fmt.Sprintf("%s: option %s=%q %v", v.whose, name, value, err))
	}
	return o, value
}
