package configs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// TestNegotiator reads the negotiator's configuration strictly: it holds every key,
// says what is so by default, and its examples can be taken up.
func TestNegotiator(t *testing.T) {
	text, err := fs.ReadFile(configs.Files(), configs.Negotiator)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "negotiator.yaml")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	c, err := config.Load(path)
	require.NoError(t, err)
	c.Options, c.EstimatesOptions, c.Plugins.Dirs, c.Plugins.Each, c.Plugins.Checksums = nil, nil, nil, nil, nil // empty
	c.Plugins.Environment = nil                                                                                  // empty
	require.Equal(t, config.Default(), c)

	for _, key := range keys(reflect.TypeFor[config.Config]()) {
		require.Regexp(t, `(?m)^#? *`+key+`:( |$)`, string(text))
	}

	example := regexp.MustCompile(`^#( *)(\w+):`)
	lines := strings.Split(string(text), "\n")
	examples := 0
	for i, line := range lines {
		if key := example.FindStringSubmatch(line); key != nil {
			examples++
			lines[i] = line[1:]
			if before := key[1] + key[2] + ":"; strings.HasPrefix(lines[i-1], before) {
				lines[i-1] = ""
			}
		}
	}
	require.Equal(t, 8, examples)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	c, err = config.Load(path)
	require.NoError(t, err)
	require.Equal(t, "off", c.Plugins.Each["backfill-py"].MTLS)
	require.Len(t, c.Plugins.Allow, 2)
	require.Equal(t, []string{"PYTHONPATH"}, c.Plugins.Environment)
	require.Len(t, c.Plugins.Checksums, 1)
	require.Equal(t, "2", c.Options["depth"])
	require.True(t, c.EstimateSettings().Learns())
}

// TestHTCondor reads the file for HTCondor's configuration: it names every knob of ours,
// knows no other, and says what is so by default.
func TestHTCondor(t *testing.T) {
	text, err := fs.ReadFile(configs.Files(), configs.HTCondor)
	require.NoError(t, err)
	for _, k := range condorconfig.Knobs() {
		if strings.HasPrefix(k.Name, "BACKFILL_") && k.Name != "BACKFILL_INTERVAL" && k.Name != "BACKFILL_IN_PROCESS" {
			require.Regexp(t, `(?m)^#?`+k.Name+` = `, string(text))
		}
	}
	text = []byte(strings.ReplaceAll(string(text), "$(SPOOL)", "/spool"))
	c := condorconfig.Parse(string(text), "")
	require.NoError(t, c.Check())
	require.Empty(t, c.Unknown())
	got, err := c.Settings("")
	require.NoError(t, err)
	want := config.ForPool(config.LocalPool)
	want.State, want.Order = "/spool/backfill", config.FairShare
	require.Equal(t, want, got)
	example := regexp.MustCompile(`(?m)^#([A-Z]\w* = )`)
	c = condorconfig.Parse(example.ReplaceAllString(string(text), "$1"), "")
	require.NoError(t, c.Check())
	require.Empty(t, c.Unknown())
	require.Equal(t, "easy", c.Text("BACKFILL_FALLBACK"))
}

// keys are the keys of a struct in YAML, with those of structs in it.
func keys(of reflect.Type) (all []string) {
	for field := range of.Fields() {
		key, inline, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if inline == "" {
			all = append(all, key)
		}
		if field.Type.Kind() == reflect.Struct {
			all = append(all, keys(field.Type)...)
		}
	}
	return all
}
