package configs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator"
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
	c.PriorityFactors, c.Options, c.EstimatesOptions, c.Plugins.Dirs, c.Plugins.Each, c.Plugins.Checksums = nil, nil, nil, nil, nil, nil // empty
	c.Plugins.Environment, c.Plugins.Reads = nil, nil                                                                                    // empty
	require.Equal(t, config.Default(), c)

	want := 0
	for _, s := range config.Settings() {
		if s.Key == "" {
			continue
		}
		key := s.Key[strings.IndexByte(s.Key, '.')+1:]
		require.Regexp(t, `(?m)^#? *`+key+`:( |$)`, string(text))
		if s.Example != nil {
			want++
		}
	}

	example := regexp.MustCompile(`^#(|  )(\w+):`)
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
	require.Equal(t, want, examples)
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
		if strings.HasPrefix(k.Knob, "BACKFILL_") {
			require.Regexp(t, `(?m)^#?`+k.Knob+` = `, string(text))
		}
	}
	text = []byte(strings.NewReplacer("$(SPOOL)", "/spool", "$(NEGOTIATOR_INTERVAL)", "60").Replace(string(text)))
	c := condorconfig.Parse(string(text), "")
	require.NoError(t, c.Check())
	require.Empty(t, c.Unknown())
	got, err := c.Settings("")
	require.NoError(t, err)
	want := config.ForPool(config.LocalPool)
	want.State, want.Order = "/spool/backfill", negotiator.FairShare
	require.Equal(t, want, got)
	example := regexp.MustCompile(`(?m)^#([A-Z]\w* = )`)
	c = condorconfig.Parse(example.ReplaceAllString(string(text), "$1"), "")
	require.NoError(t, c.Check())
	require.Empty(t, c.Unknown())
	require.Equal(t, "easy", c.Text("BACKFILL_FALLBACK"))
}
