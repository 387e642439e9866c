package condorconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWithoutEffect: of HTCondor's knobs that are not heeded, those are named that are set to something
// else than by default, with the place.
func TestWithoutEffect(t *testing.T) {
	const file = "/etc/condor/config.d/98-x.conf, line 6"
	for _, tt := range []struct{ knob, value, source, usual, warning string }{
		{"PREEMPTION_REQUIREMENTS", "RemoteUserPrio > 2", file, "False", ""},
		{"RANK", "Owner == \"alice\"", file, "", ""},
		{"NEGOTIATOR.MATCH_WORKING_CM_SLOTS", "1 < 2", file, "false", "gets no jobs from here"},
		{"MATCH_WORKING_CM_SLOTS", "2 < 1", file, "false", ""},
		{"NEGOTIATOR_TIMEOUT", "60", file, "60", ""}, // another version's default
		{"NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", "", file, "", ""},
		{"SCHEDD.SLOT_WEIGHT", "Memory", file, "Cpus", ""},
	} {
		dump := tt.knob + " = " + tt.value + "\n # at: " + tt.source + "\n"
		if tt.usual != "" {
			dump += " # default: " + tt.usual + "\n"
		}
		warnings := Parse(dump, "").Warnings()
		if tt.warning == "" {
			require.Empty(t, warnings, tt.knob+" = "+tt.value)
			continue
		}
		require.Len(t, warnings, 1)
		name := tt.knob[strings.IndexByte(tt.knob, '.')+1:]
		require.Regexp(t, "^"+name+" is set \\("+file+"\\), and not heeded here: .*"+tt.warning, warnings[0])
	}
	// Without places, as -dump alone prints it, only values count.
	require.Empty(t, Parse("MATCH_WORKING_CM_SLOTS = false\n", "").Warnings())
	require.Len(t, Parse("MATCH_WORKING_CM_SLOTS = true\n", "").Warnings(), 1)
}

// TestPace: HTCondor's knobs about the time between cycles count where the site has set them, and not as
// they are by default. A setting of ours comes first.
func TestPace(t *testing.T) {
	const byDefault, inFile = "\n # at: <Default>\n", "\n # at: /etc/condor/config.d/98-x.conf, line 6\n"
	file := filepath.Join(t.TempDir(), "backfill.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cycle_delay: 3s"), 0o600))
	for _, tt := range []struct {
		dump            string
		delay, interval time.Duration
	}{
		{"NEGOTIATOR_CYCLE_DELAY = 20" + byDefault + "NEGOTIATOR_MIN_INTERVAL = 5" + byDefault, time.Second, 0},
		{"NEGOTIATOR_CYCLE_DELAY = 20" + inFile + "NEGOTIATOR_MIN_INTERVAL = 5" + inFile, 20 * time.Second, 5 * time.Second},
		{"NEGOTIATOR_CYCLE_DELAY = 2 * 4\n # at: <Environment>\n", 8 * time.Second, 0},
		{"NEGOTIATOR.NEGOTIATOR_CYCLE_DELAY = 0" + inFile, time.Second, 0},
		{"NEGOTIATOR_CYCLE_DELAY = 20" + inFile + "BACKFILL_CYCLE_DELAY = 2" + inFile, 2 * time.Second, 0},
		{"NEGOTIATOR_CYCLE_DELAY = 20" + inFile + "BACKFILL_CONFIG = " + file + inFile, 3 * time.Second, 0},
	} {
		s, err := Parse(tt.dump, "").Settings("")
		require.NoError(t, err)
		require.Equal(t, tt.delay, s.CycleDelay, tt.dump)
		require.Equal(t, tt.interval, s.MinInterval, tt.dump)
	}
	require.ErrorContains(t, Parse("NEGOTIATOR_CYCLE_DELAY = soon"+inFile, "").Check(), "NEGOTIATOR_CYCLE_DELAY = soon: must be")
}

func TestHeedsLeases(t *testing.T) {
	_, line, _ := strings.Cut(StartLine, " = ")
	require.True(t, HeedsLeases(strings.ReplaceAll(line, "$(START)", "true")))
	require.True(t, HeedsLeases(strings.ToLower(line)), "a startd may spell it otherwise")
	require.False(t, HeedsLeases("KeyboardIdle > 60"))
}
