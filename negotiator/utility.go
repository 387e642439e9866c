package negotiator

import (
	"fmt"
	"strings"
)

// Utility is a utility function of the literature, as an order's expression.
type Utility struct {
	// Name is the paper's. Doc is the formula, with wait w, estimate t, cpus n and submit time s.
	Name, Doc  string
	Expression string
}

// Utilities lists utility functions as ClassAd expressions. The language has no logarithm, so they
// use (x^h - 1) / h, of which ln x is the limit. With h = 1e-6 that is right to one part in 50,000
// for all values that occur; the papers' constants have three digits. Terms that are the same for
// all jobs are left out. WFP-wide is this project's own.
//
// Sources: Tang, Lan, Desai and Buettner, "Fault-Aware, Utility-Based Job Scheduling on
// Blue Gene/P Systems", CLUSTER 2009 (WFP, UNICEF); Carastan-Santos and de Camargo,
// "Obtaining Dynamic Scheduling Policies with Simulation and Machine Learning", SC'17
// (F1 to F4, found on traces that begin at second 0).
func Utilities() []Utility {
	const log10QDate = "4.342945e5*(pow(QDate, 1e-6) - 1)"
	return []Utility{
		{"WFP", "(w/t)³ × n, the order wfp", "pow(1.0*WaitTime/EstimatedRunTime, 3) * Width"},
		{
			"WFP-wide", "(w/t)³ × n², the order wfp-wide, which is this project's",
			"pow(1.0*WaitTime/EstimatedRunTime, 3) * Width * Width",
		},
		{"XFactor", "(w + t) / t, the order xfactor", "1.0*(WaitTime + EstimatedRunTime) / EstimatedRunTime"},
		{
			"UNICEF", "w / (log2 n × t); one cpu counts as two",
			"1.0*WaitTime / EstimatedRunTime / (pow(max({Width, 2}), 1e-6) - 1)",
		},
		{
			"F1", "-(log10 t × n + 870 × log10 s)",
			"-((pow(EstimatedRunTime, 1e-6) - 1)*Width + 870*(pow(QDate, 1e-6) - 1))",
		},
		{"F2", "-(√t × n + 25600 × log10 s)", "-(pow(EstimatedRunTime, 0.5)*Width + 25600*" + log10QDate + ")"},
		{"F3", "-(t × n + 6860000 × log10 s)", "-(1.0*EstimatedRunTime*Width + 6860000*" + log10QDate + ")"},
		{"F4", "-(t × √n + 530000 × log10 s)", "-(EstimatedRunTime*pow(Width, 0.5) + 530000*" + log10QDate + ")"},
	}
}

// utilityHelp is the help text about utility functions.
func utilityHelp() string {
	var text strings.Builder
	text.WriteString(`
Utility functions of the literature as expressions, to be used or changed (w: wait, t: estimate,
n: cpus, s: submit time, from the beginning of a trace):

`)
	for _, u := range Utilities() {
		fmt.Fprintf(&text, "  %-8s %s\n           expr:%s\n", u.Name, u.Doc, u.Expression)
	}
	return text.String()
}
