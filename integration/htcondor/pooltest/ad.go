package pooltest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Ad is a ClassAd as -json prints it: numbers, strings, booleans, lists, and
// expressions as text.
type Ad map[string]any

// Text gives a string attribute; "" when it is none.
func (a Ad) Text(name string) string {
	text, _ := a[name].(string)
	return text
}

// Int gives a number cut to an integer; 0 when the attribute is no number.
func (a Ad) Int(name string) int {
	number, _ := a[name].(float64)
	return int(number)
}

// Job gives the id in a job ad.
func (a Ad) Job() JobID {
	schedd, _, _ := strings.Cut(a.Text("GlobalJobId"), "#")
	return JobID{Schedd: schedd, Cluster: a.Int("ClusterId"), Proc: a.Int("ProcId")}
}

// parseAds reads what a command prints with -json: a list, or nothing.
func parseAds(text string) ([]Ad, error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	var ads []Ad
	if err := json.Unmarshal([]byte(text), &ads); err != nil {
		return nil, fmt.Errorf("ads: %w", err)
	}
	return ads, nil
}

// JobID names a job in a pool.
type JobID struct {
	Schedd        string // the schedd's name, such as pool.test or s2@pool.test
	Cluster, Proc int
}

// String is "12.0", with the schedd's name before it when it is not the first.
func (id JobID) String() string {
	text := strconv.Itoa(id.Cluster) + "." + strconv.Itoa(id.Proc)
	if id.Schedd != Host {
		text = id.Schedd + "#" + text
	}
	return text
}

// Values of a job's JobStatus.
const (
	Idle = 1 + iota
	Running
	Removed
	Completed
	Held
)
