package ask

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
)

// StartTimes lists the start times of the first jobs, up to the limit; 0: of all. If several negotiators
// tell them, a column says who.
func StartTimes(all []Told, limit int) string {
	shown := cli.First(all, limit)
	several := slices.ContainsFunc(all, func(j Told) bool { return j.Negotiator != "" })
	columns := []any{"job", "owner", "expected start", "80 % range", "guaranteed by", "slots", "reason"}
	if several {
		columns = slices.Insert(columns, 5, any("on"))
	}
	t := cli.Table(columns...)
	zone := time.Local
	for _, j := range shown {
		why := j.Why(zone)
		for _, x := range j.Elsewhere {
			why = strings.TrimPrefix(why+"; "+x.tell(zone), "; ")
		}
		row := table.Row{
			cli.Line(j.Job), cli.Line(j.Owner), moment(j.Start, zone),
			j.Span(zone), moment(j.Guarantee, zone), cli.Line(j.Slots), cli.Line(why),
		}
		if several {
			row = slices.Insert(row, 5, any(cli.Line(bare(j.Negotiator))))
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n" + cli.More(len(all)-len(shown))
}

// AsTold are forecasts as the only negotiator tells them.
func AsTold(all []daemon.JobForecast) []Told {
	told := make([]Told, len(all))
	for i, j := range all {
		told[i].JobForecast = j
	}
	return told
}

// toTheRight aligns columns with numbers that are written for people.
func toTheRight(t table.Writer, columns ...string) {
	var right []table.ColumnConfig
	for _, name := range columns {
		right = append(right, table.ColumnConfig{Name: name, Align: text.AlignRight})
	}
	t.SetColumnConfigs(right)
}

// AccuracyTable is a table of how true start times were.
func AccuracyTable(all []Accuracy) string {
	several := slices.ContainsFunc(all, func(a Accuracy) bool { return a.Negotiator != "" })
	columns := []any{"told", "jobs", "median error", "p90 error", "within 1 min", "within 10 min", "in the 80 % range"}
	if several {
		columns = slices.Insert(columns, 0, any("by"))
	}
	t := cli.Table(columns...)
	toTheRight(t, "jobs")
	seconds := func(n int64) string { return (time.Duration(n) * time.Second).String() }
	share := func(x *float64) string {
		if x == nil {
			return ""
		}
		return fmt.Sprintf("%.0f %%", 100**x)
	}
	for _, m := range all {
		row := table.Row{m.Told, inwords.Whole(m.Jobs), "", "", "", "", ""}
		if m.Jobs > 0 {
			row[2], row[3], row[4], row[5] = seconds(m.Median), seconds(m.P90), share(m.Minute), share(m.TenMinutes)
		}
		if m.Ranged > 0 {
			row[6] = fmt.Sprintf("%.0f %% of %s", 100*m.Within, inwords.Whole(m.Ranged))
		}
		if several {
			row = slices.Insert(row, 0, any(cli.Line(bare(m.Negotiator))))
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
}
