package instant_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

func paris(t require.TestingT) *time.Location {
	zone, err := time.LoadLocation("Europe/Paris")
	require.NoError(t, err)
	return zone
}

// start is 2026-03-01 12:00 in Paris.
const start = 1772362800

func TestRead(t *testing.T) {
	trace := instant.OfJobs(start, 10, 86400, paris(t))
	ads := instant.OfJobs(0, start, start+86400, nil)
	undated := instant.OfJobs(0, 0, 500, nil)
	year := instant.OfJobs(start, 0, 366*86400, paris(t))
	old := instant.OfJobs(1000, 0, 100_000, nil)
	for _, tt := range []struct {
		clock instant.Clock
		text  string
		want  int64
		err   string
	}{
		{trace, "0", 0, ""},
		{trace, "3600", 3600, ""},
		{trace, "1772362799", -1, ""},
		{trace, "1772362800", 0, ""},
		{trace, "1772366400", 3600, ""},
		{trace, "@1772366400", 3600, ""},
		{trace, "@60", 60 - start, ""},
		{trace, "2026-03-01T13:00", 3600, ""},
		{trace, "2026-03-01 13:00", 3600, ""},
		{trace, "2026-03-01 13:00:05", 3605, ""},
		{trace, "2026-03-01 13:00:05 CET", 3605, ""},
		{trace, "2026-03-01T13:00Z", 7200, ""},
		{trace, "2026-03-01T13:00:00+01:00", 3600, ""},
		{trace, "2026-03-01T13:00+0100", 3600, ""},
		{trace, "2026-03-01T13:00-05", 25200, ""},
		{trace, "2026-03-02", 43200, ""},
		{trace, "2026-03-02 UTC", 46800, ""},
		{trace, "1 03:46:40", 100_000, ""},
		{trace, "0 00:10", 600, ""},
		{trace, "-5", 0, "must be a second from 0 on"},
		{trace, "1.5", 0, "must be a whole number of seconds"},
		{trace, "", 0, "must be a second of the trace, a Unix time, or a date"},
		{trace, "soon", 0, "must be a second of the trace, a Unix time, or a date"},
		{trace, "99999999999999999999", 0, "is beyond all time"},
		{trace, "9999999999999", 0, "is beyond all time"},
		{trace, "2026-02-29", 0, "there is no such day or time"},
		{trace, "2026-13-01", 0, "there is no such day or time"},
		{trace, "2026-03-01T24:00", 0, "there is no such day or time"},
		{trace, "2026-03-01T13:00:60", 0, "there is no such day or time"},
		{trace, "2026-03-01T13:00+99:00", 0, "is no offset"},
		{trace, "2026-03-01T13:00 CEST", 0, "CEST is not the zone of that time here, which is CET"},
		{trace, "2026-03-01T13:00+01:00 CET", 0, "has two time zones"},
		{trace, "0 25:00", 0, "is no time of a day"},
		{trace, "@", 0, "must be a number of seconds since 1970"},
		{year, "2026-03-29T02:30", 0, "there is no such time in Europe/Paris"},
		{year, "2026-10-25T02:30", 0, "comes twice in Europe/Paris, as clocks are put back then: write an offset, +02:00 or +01:00"},
		{year, "2026-10-25 02:30:00 CET", 1792891800 - start, ""},
		{year, "2026-10-25 02:30:00 CEST", 1792888200 - start, ""},
		{ads, "1772366400", start + 3600, ""},
		{ads, "3600", start + 3600, ""},
		{ads, "1772362799", start - 1, ""},
		{ads, "1772449201", start + 86401, ""},
		{ads, "2026-03-01T12:00", start + 3600, ""},
		{undated, "1772366400", 1772366400, ""},
		{undated, "60", 60, ""},
		{undated, "0 00:01:00", 60, ""},
		{undated, "2026-03-01", 0, "the trace does not say when it starts"},
		{undated, "@60", 0, "the trace does not say when it starts"},
		{old, "900", 900, ""},
		{old, "1500", 0, "may be second 1500 of the trace, 1970-01-01 00:41:40 UTC, or the Unix time, 1970-01-01 00:25:00 UTC"},
		{old, "@1500", 500, ""},
		{year, "20260401", 0, "is a number, which would be 2026-10-22 00:53:21 CEST: did you mean 2026-04-01?"},
		{year, "202604011200", 0, "did you mean 2026-04-01T12:00?"},
		{year, "20250401", 0, "did you mean 2025-04-01?"},
		{year, "19960401", 19960401, ""},
		{year, "20260231", 20260231, ""},
		{year, "1772362800000", 0, "did you mean 1772362800? Unix times are in seconds"},
		{ads, "20260301", 0, "did you mean 2026-03-01?"},
		{undated, "20260301", 20260301, ""},
		{instant.OfPool(time.UTC), "20260301", 0, "is the Unix time of 1970-08-23 11:51:41 UTC: did you mean 2026-03-01?"},
		{instant.OfPool(time.UTC), "1772366400", 1772366400, ""},
		{instant.OfPool(paris(t)), "2026-03-01T13:00", start + 3600, ""},
		{instant.OfPool(time.UTC), "soon", 0, "must be a date such as"},
		{instant.OfPool(time.UTC), "1 03:46:40", 0, "must be a date such as"},
		{instant.OfJobs(start, 0, 10, nil), "2028-02-29", 1835395200 - start, ""},
	} {
		got, err := tt.clock.Read(tt.text)
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, tt.text)
			continue
		}
		require.NoError(t, err, tt.text)
		require.Equal(t, tt.want, got, tt.text)
	}
}

func TestText(t *testing.T) {
	trace, undated := instant.OfJobs(start, 10, 86400, paris(t)), instant.OfJobs(0, 0, 500, nil)
	require.Equal(t, "2026-03-01 13:00:00 CET", trace.Text(3600))
	require.Equal(t, "13:00:00 CET", trace.Beside(3600, 0))
	require.Equal(t, "2026-03-02 12:00:00 CET", trace.Beside(86400, 0))
	require.Equal(t, "2026-03-01 12:00:00–13:00:00 CET", trace.Span(0, 3600))
	require.Equal(t, "2026-03-01 12:00:00–2026-03-02 12:00:00 CET", trace.Span(0, 86400))
	require.Equal(t, "CET", trace.ZoneName(0))
	require.Equal(t, "1 03:46:40", undated.Text(100_000))
	require.Equal(t, "-0 00:00:05", undated.Text(-5))
	require.Equal(t, "0 00:00:00–0 00:01:00", undated.Span(0, 60))
	require.Empty(t, undated.ZoneName(0))
	require.Equal(t, "60 was read as 2026-03-01 12:00:05 CET (second 5 of the trace): that is before the first job is submitted, "+
		"2026-03-01 12:00:10 CET", trace.Outside("60", 5))
	require.Contains(t, undated.Outside("501", 501), "after the last job is submitted, 0 00:08:20")
	require.Empty(t, trace.Outside("10", 10))
	require.Equal(t, "20260301 was read as 234 11:51:41 (second 20260301 of the trace): did you mean 2026-03-01?",
		instant.OfJobs(0, 0, 30e6, nil).Outside("20260301", 20260301))
}

func TestStretches(t *testing.T) {
	require.Empty(t, instant.OfJobs(0, 0, 500, nil).Stretches(0, 500))
	require.Equal(t, []instant.Stretch{{0, start, "UTC"}}, instant.OfJobs(start, 0, 500, nil).Stretches(0, 1e9))
	require.Equal(t, []instant.Stretch{{0, start + 3600, "CET"}, {2383200, start + 7200, "CEST"}},
		instant.OfJobs(start, 0, 500, paris(t)).Stretches(0, 1e7))
}

// byRule is a zone in which a rule alone says when clocks change, as the newer files of zones have it.
func byRule(t *testing.T, rule string) *time.Location {
	t.Helper()
	file := new(bytes.Buffer)
	for range 2 { // once in the old format, and once in the new one
		file.WriteString("TZif2" + strings.Repeat("\x00", 15))
		for _, count := range []uint32{0, 0, 0, 0, 1, 4} { // one offset, whose name has four bytes
			require.NoError(t, binary.Write(file, binary.BigEndian, count))
		}
		file.WriteString("\x00\x00\x0e\x10\x00\x00CET\x00")
	}
	file.WriteString("\n" + rule + "\n")
	zone, err := time.LoadLocationFromTZData("Europe/Stockholm", file.Bytes())
	require.NoError(t, err)
	return zone
}

// TestStretchesByRule: by package time a stretch ends where it began, on the last day of a leap year, and
// another one begins with each year.
func TestStretchesByRule(t *testing.T) {
	const from = 843480031 // in September 1996
	zone := byRule(t, "CET-1CEST,M3.5.0,M10.5.0/3")
	require.Equal(t, []instant.Stretch{
		{0, from + 7200, "CEST"},
		{846378000 - from, from + 3600, "CET"},
		{859683600 - from, from + 7200, "CEST"},
		{877827600 - from, from + 3600, "CET"},
		{891133200 - from, from + 7200, "CEST"},
	}, instant.OfJobs(from, 0, 500, zone).Stretches(0, 5e7))
	require.Equal(t, []instant.Stretch{{-10, 846378000 + 7200, "CEST"}, {0, 846378000 + 3600, "CET"}},
		instant.OfJobs(846378000, 0, 500, zone).Stretches(-10, 500), "from shortly before a change on")
}

// TestWhatIsWrittenIsRead: each instant is read again as it is written.
func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]instant.Clock{
			instant.OfJobs(start, 0, 1, paris(t)), instant.OfJobs(start, 0, 1, nil), instant.OfJobs(0, 0, 1, nil),
			instant.OfJobs(0, start, start+1, time.FixedZone("", -5*3600)), instant.OfPool(paris(t)),
		}).Draw(t, "clock")
		at := c.First + rapid.Int64Range(0, 1e9).Draw(t, "at")
		got, err := c.Read(c.Text(at))
		require.NoError(t, err, c.Text(at))
		require.Equal(t, at, got, c.Text(at))
	})
}
