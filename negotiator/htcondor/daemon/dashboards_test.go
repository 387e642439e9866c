package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// monitoring is where the dashboard and the alerts are.
const monitoring = "../../../configs"

// panel is a part of a dashboard of Grafana.
type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct {
		Expr, RefID, LegendFormat string
		Datasource                struct{ UID string }
	}
}

// dashboard reads the dashboard.
func dashboard(t *testing.T) (panels []panel) {
	t.Helper()
	text, err := os.ReadFile(monitoring + "/grafana/backfill.json")
	require.NoError(t, err)
	var board struct {
		UID, Title    string
		SchemaVersion int
		Panels        []panel
		Templating    struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &board))
	require.NotEmpty(t, board.UID)
	require.GreaterOrEqual(t, board.SchemaVersion, 38, "that of Grafana 10")
	require.Equal(t, "datasource", board.Templating.List[0].Name)
	require.Equal(t, "datasource", board.Templating.List[0].Type)
	require.Equal(t, "label_values(backfill_cycles_total, instance)", board.Templating.List[1].Definition)
	return board.Panels
}

// alert is a rule that fires.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

// alerts reads the alerts.
func alerts(t *testing.T) []alert {
	t.Helper()
	text, err := os.ReadFile(monitoring + "/prometheus/rules.yml")
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []alert } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	require.Len(t, file.Groups, 1)
	return file.Groups[0].Rules
}

// TestTheDashboardIsWellFormed: what Grafana needs of each panel is there, and no two lie on each
// other.
func TestTheDashboardIsWellFormed(t *testing.T) {
	taken, ids, rows := map[[2]int]string{}, map[int]bool{}, 0
	types := []string{"row", "stat", "timeseries", "table"}
	grouped := regexp.MustCompile(`by \(([^)]*)\)`)
	for _, p := range dashboard(t) {
		require.NotEmpty(t, p.Title)
		require.False(t, ids[p.ID], "%s: its ID is taken", p.Title)
		ids[p.ID] = true
		require.Contains(t, types, p.Type)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			require.Less(t, x, 24, p.Title)
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "lies under %s", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows++
			require.Empty(t, p.Targets)
			continue
		}
		require.NotEmpty(t, p.Targets, p.Title)
		refs := map[string]bool{}
		for _, target := range p.Targets {
			require.Equal(t, "${datasource}", target.Datasource.UID, p.Title)
			require.False(t, refs[target.RefID] || target.RefID == "", p.Title)
			refs[target.RefID] = true
			var labels []string
			for _, list := range grouped.FindAllStringSubmatch(target.Expr, -1) {
				labels = append(labels, strings.Split(list[1], ", ")...)
			}
			for _, label := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				require.Contains(t, labels, label[1], "%s: %s", p.Title, target.Expr)
			}
		}
	}
	require.Equal(t, 6, rows)
}

// TestAlertsSayWhatToDo: each has a summary, a description and an action, and a place in the guide;
// and the knobs that they name exist.
func TestAlertsSayWhatToDo(t *testing.T) {
	knobs, err := os.ReadFile(monitoring + "/htcondor/backfill.conf")
	require.NoError(t, err)
	guide, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(guide), "### Monitoring\n")
	section, _, _ = strings.Cut(section, "\n### ")
	names := map[string]bool{}
	for _, a := range alerts(t) {
		require.Regexp(t, `\b`+a.Alert+`\b`, section)
		require.False(t, names[a.Alert], "%s: twice", a.Alert)
		names[a.Alert] = true
		require.Contains(t, []string{"critical", "warning", "info"}, a.Labels["severity"], a.Alert)
		for _, part := range []string{"summary", "description", "action"} {
			require.NotEmpty(t, a.Annotations[part], "%s: %s", a.Alert, part)
			for _, knob := range regexp.MustCompile(`BACKFILL_\w+`).FindAllString(a.Annotations[part], -1) {
				require.Contains(t, string(knobs), knob, a.Alert)
			}
		}
	}
	for _, name := range regexp.MustCompile(`\bBackfill\w+`).FindAllString(section, -1) {
		require.True(t, names[name], name)
	}
	for _, name := range regexp.MustCompile("backfill_[a-z_]+").FindAllString(section, -1) {
		require.True(t, slices.ContainsFunc(described(), func(m metric) bool { return m.name == name }), name)
	}
}

// expressions are all that are asked of Prometheus, by who asks.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"the list of negotiators": "backfill_cycles_total"}
	for _, a := range alerts(t) {
		all[a.Alert] = a.Expr
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	for _, p := range dashboard(t) {
		for _, target := range p.Targets {
			all[p.Title+", "+target.RefID] = variables.Replace(target.Expr)
		}
	}
	return all
}

// TestMetricsExist: the dashboard and the alerts name no metric, and no label of it, that a daemon
// does not serve, or may serve if its pool has what the metric is of.
func TestMetricsExist(t *testing.T) {
	served := metered(t).gather(t)
	known := map[string]metric{}
	for _, m := range described() {
		known[m.name] = m
	}
	// Only pools that have limits, that choose their policy, or in which jobs made way for others
	// or a guarantee was broken serve those.
	sometimes := regexp.MustCompile(`^backfill_(limit_|policy_(choices|changes|in_charge|expected)|guarantees_broken|` +
		`displaced|start_within)`)
	selected := regexp.MustCompile(`(backfill_\w+)(\{[^}]*\})?`)
	matched, grouped := regexp.MustCompile(`(\w+)\s*=~?\s*"`), regexp.MustCompile(`by \(([^)]+)\)`)
	used := map[string]bool{}
	for who, expr := range expressions(t) {
		labels := []string{"job", "instance", "le"} // those of Prometheus, and of buckets
		for _, part := range selected.FindAllStringSubmatch(expr, -1) {
			name := strings.TrimSuffix(part[1], "_bucket")
			m, found := known[name]
			require.True(t, found, "%s: there is no %s", who, name)
			require.True(t, served[name] != nil || sometimes.MatchString(name), "%s: %s is not served", who, name)
			used[name] = true
			own := append(strings.Split(m.labels, ", "), "job", "instance")
			labels = append(labels, own...)
			for _, label := range matched.FindAllStringSubmatch(part[2], -1) {
				require.Contains(t, own, label[1], "%s: %s", who, part[0])
			}
		}
		for _, list := range grouped.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(list[1], ", ") {
				require.Contains(t, labels, strings.TrimSpace(label), "%s: %s", who, expr)
			}
		}
	}
	for name := range served {
		if strings.Contains(name, "_seconds") && served[name].GetType().String() == "HISTOGRAM" {
			require.True(t, used[name], "%s is shown nowhere", name)
		}
	}
}

// promtool runs Prometheus's own tool in a folder.
func promtool(t *testing.T, folder string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("skipped: promtool is not here (apt-get install prometheus)")
	}
	tool := exec.CommandContext(t.Context(), path, args...)
	tool.Dir = folder
	out, err := tool.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// TestAlertsFire runs rules_test.yml, in which each alert fires and does not fire.
func TestAlertsFire(t *testing.T) {
	folder := monitoring + "/prometheus"
	promtool(t, folder, "check", "rules", "rules.yml")
	promtool(t, folder, "test", "rules", "rules_test.yml")
	text, err := os.ReadFile(folder + "/rules_test.yml")
	require.NoError(t, err)
	for _, a := range alerts(t) {
		require.Contains(t, string(text), `alertname="`+a.Alert+`"`, "it is never seen to fire")
	}
}

// TestPrometheusUnderstands every expression of the dashboard, and the example of its
// configuration.
func TestPrometheusUnderstands(t *testing.T) {
	folder := t.TempDir()
	all := slices.Compact(slices.Sorted(maps.Values(expressions(t))))
	var rules []map[string]string
	for i, expr := range all {
		rules = append(rules, map[string]string{"record": fmt.Sprint("shown_", i), "expr": expr})
	}
	group := map[string]any{"name": "shown", "rules": rules}
	text, err := yaml.Marshal(map[string]any{"groups": []any{group}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "shown.yml"), text, 0o600))
	require.Contains(t, promtool(t, folder, "check", "rules", "shown.yml"), fmt.Sprintf("SUCCESS: %d rules", len(rules)))

	text, err = os.ReadFile(monitoring + "/prometheus/prometheus.yml")
	require.NoError(t, err)
	token := filepath.Join(folder, "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	example := strings.ReplaceAll(string(text), "/etc/prometheus/backfill-token", token)
	require.NotEqual(t, string(text), example)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "prometheus.yml"), []byte(example), 0o600))
	text, err = os.ReadFile(monitoring + "/prometheus/rules.yml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules.yml"), text, 0o600))
	promtool(t, folder, "check", "config", "prometheus.yml")
}
