package strictyaml_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// What is wrong with a value is said without Go, and a fraction is not dropped.
func TestWords(t *testing.T) {
	type Inner struct {
		Count int     `yaml:"count"`
		Seeds []int64 `yaml:"seeds"`
		Share float64 `yaml:"share"`
		On    *bool   `yaml:"on"`
	}
	type outer struct {
		Inner `yaml:",inline"`
		Name  string           `yaml:"name"`
		List  []*Inner         `yaml:"list"`
		Of    map[string]int64 `yaml:"of"`
		Most  uint64           `yaml:"most"`
	}
	for text, want := range map[string]string{
		"list:\n\t- {count: 1}":          "[2:1] there is a tab; indent with blanks",
		"list:\n- count: 1\n\t  name: a": "[3:1] there is a tab; indent with blanks",
		"list: [{count: x}]":             "[1:16] a text is given where a whole number is expected",
		"name: [a]":                      "[1:7] a list is given where a text is expected",
		"name: {a: b}":                   "[1:7] a mapping is given where a text is expected",
		"list: 5":                        "[1:7] a whole number is given where a list is expected",
		"list: [a]":                      "[1:8] a text is given where a mapping is expected",
		"on: 7":                          "[1:5] a whole number is given where true or false is expected",
		"share: many":                    "[1:8] a text is given where a number is expected",
		"count: 999999999999999999999":   "[1:8] 999999999999999999999 is given where a whole number is expected",
		"most: -1":                       "[1:7] -1 is given where a whole number from 0 to 2^64-1 is expected",
		"count: 3.5":                     "[1:8] 3.5: must be a whole number",
		"list: [{seeds: [1, 2.5]}]":      "[1:20] 2.5: must be a whole number",
		"of: {a: 0.5}":                   "[1:9] 0.5: must be a whole number",
	} {
		err := strictyaml.Decode([]byte(text), &outer{})
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "Go ", text)
	}
	var read outer
	require.NoError(t, strictyaml.Decode([]byte("count: 3.0\nshare: 0.5\nlist: [{count: 1}]\nof: {a: 1}\n"), &read))
	require.Equal(t, 3, read.Count)
	require.NoError(t, strictyaml.Decode(nil, &read))
}
