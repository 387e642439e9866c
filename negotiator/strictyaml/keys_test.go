package strictyaml_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

type Part struct {
	File string `yaml:"file"`
}

type whole struct {
	Name  string `yaml:"name"`
	Lists []struct {
		Part  `yaml:",inline"`
		Merge []Part         `yaml:"merge"`
		Of    map[string]int `yaml:"of"`
	} `yaml:"lists"`
	One *struct {
		Deep *int `yaml:"deep"`
	} `yaml:"one"`
	own int
}

func TestKeys(t *testing.T) {
	all := []string{"name", "lists", "lists[].file", "lists[].merge", "lists[].merge[].file", "lists[].of", "one", "one.deep"}
	require.Equal(t, all, strictyaml.Keys(reflect.TypeFor[*whole]()))
	require.Zero(t, whole{}.own)
	file, err := strictyaml.Parse([]byte("name: a\nlists:\n  - {file: b, merge: [{file: c}]}\n  - of:\n      x: 1\none: {deep: 1}\n"))
	require.NoError(t, err)
	require.Equal(t, []string{
		"name", "lists", "lists[].file", "lists[].merge", "lists[].merge[].file", "lists[].of", "lists[].of.x", "one", "one.deep",
	}, strictyaml.KeysIn(file))
}

func TestSuggest(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"label: a\n", `[1:1] unknown field "label", no: label (known here: name, lists, one; show keys shows each with an example)`},
		{"lists:\n  - flie: a\n", `[2:5] unknown field "flie", no: flie (known here: file, merge, of; `},
		{"lists: [{merge: [{name: a}]}]\n", `"name", no: name (known here: file; `},
		{"one: {deeep: 1}\n", `(known here: deep; `},
		{"name: [a]\n", `a list is given where a text is expected`},
	} {
		file, err := strictyaml.Parse([]byte(c.text))
		require.NoError(t, err)
		err = strictyaml.Suggest(file, strictyaml.Decode([]byte(c.text), new(whole)), reflect.TypeFor[whole](),
			func(key string, known []string) string { return ", no: " + key + strings.Repeat("!", len(known)/9) }, "show keys")
		require.Contains(t, yaml.FormatError(err, false, false), c.want)
	}
}
