package workload_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func TestZone(t *testing.T) {
	at := time.Unix(996714000, 0) // 2001-08-02 01:00 UTC
	for _, tt := range []struct {
		name, offset string
		hour         int
		unknown      bool
	}{
		{"", "", 1, false},
		{"", "3600", 2, false},
		{"", "-86400", 1, false}, // no offset
		{"", "-8 hours", 1, false},
		{"Europe/Paris", "3600", 3, false},
		{"Europe/Paris # CET", "", 3, false},
		{"US/Pacific", "-28800", 18, false},
		{"Japan", "", 10, false},
		{"EST5EDT", "", 21, false},
		{"UTC", "3600", 1, false},
		// These are names of files or of the machine's own zone, and none of zones.
		{"Local", "", 1, true},
		{"Europe", "", 1, true},
		{"../Europe/Paris", "7200", 3, true},
		{"/etc/localtime", "", 1, true},
		{"Middle-earth/Bree", "7200", 3, true},
	} {
		zone, unknown := workload.Header{"TimeZoneString": tt.name, "TimeZone": tt.offset}.Zone()
		require.Equal(t, tt.hour, at.In(zone).Hour(), tt.name)
		require.Equal(t, tt.unknown, unknown != "", tt.name)
	}
}

// TestZonesAreNotTheMachines checks that zones do not come from the machine, which may have others.
func TestZonesAreNotTheMachines(t *testing.T) {
	t.Setenv("ZONEINFO", t.TempDir())
	t.Setenv("TZ", "Asia/Tokyo")
	zone, _ := workload.Header{"TimeZoneString": "Europe/Paris"}.Zone()
	require.Equal(t, "Europe/Paris", zone.String())
	require.Equal(t, 2, time.Unix(1_400_000_000, 0).In(zone).Hour()-time.Unix(1_400_000_000, 0).UTC().Hour())
}

func TestStart(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "0": 0, "-5": 0, "soon": 0, "996714000 # UTC": 996714000, "1099511627777": 0,
	} {
		require.Equal(t, want, workload.Header{"UnixStartTime": text}.Start(), text)
	}
	h := workload.Header{}
	h.StartAt(0)
	require.Empty(t, h)
	h.StartAt(7)
	require.EqualValues(t, 7, h.Start())
}
