package strictyaml_test

import (
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

type settings struct {
	Name string   `yaml:"name"`
	List []string `yaml:"list"`
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "name: a\nlist: [b]\n", ""},
		{"a mark before it", "\ufeffname: a\nlist: [b]\n", ""},
		{"comments around it", "# one\n---\nname: a\nlist: [b]\n---\n# two\n", ""},
		{"no YAML", "name: [a\n", "[1:7]"},
		{"a second document", "name: a\n---\nname: b\n", "[2:1] there is a second document"},
		{"an unknown key", "name: a\nlits: [b]\n", `[2:1] unknown field "lits"`},
		{"another kind", "name: a\nlist: {b: c}\n", "[2:7]"},
		{"what the library has no answer to", "name: a\nlist: !00 00", "write it more plainly"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s settings
			_, err := strictyaml.Parse([]byte(c.text))
			if err == nil {
				err = strictyaml.Decode([]byte(c.text), &s)
			}
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, settings{Name: "a", List: []string{"b"}}, s)
				return
			}
			require.Error(t, err)
			require.Contains(t, yaml.FormatError(err, false, true), c.want)
		})
	}
}

func TestNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n"} {
		file, err := strictyaml.Parse([]byte(text))
		require.NoError(t, err)
		require.Empty(t, file.Docs)
	}
}
