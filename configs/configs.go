// Package configs holds the files that are built into the binaries: pools and workloads that can be
// run with nothing else at hand, and sweeps.
//
// Files called .ads are ClassAds in the line form: one "Name = expression" a line, an empty line
// behind each ad, comment lines with # at the top.
//
//	negotiator.yaml        the negotiator's configuration, every key explained
//	htcondor/backfill.conf the same settings in HTCondor's configuration, for its config.d
//	pools/four-nodes.ads   four partitionable slots of a small cluster of 2016
//	pools/mixed.yaml       three classes of nodes, for condorsim
//	pools/failing.yaml     nodes that fail and are drained, for condorsim
//	pools/ctc-gpus.yaml    nodes of which some have GPUs, for condorsim
//	pools/groups.yaml      accounting groups with quotas, for condorsim
//	pools/intrepid.yaml    a Blue Gene/P and its partitions, for condorsim; bgp-*.yaml
//	                       are like it, in the sizes of some traces, and tiny-bgp.yaml
//	                       is small enough to work a schedule out by hand
//	workloads/*.swf.gz     synthetic traces for one machine, in the Standard
//	                       Workload Format
//	workloads/npb54.ads    54 parallel jobs that together overload four-nodes.ads;
//	                       workloads/README.md says how they were made
//	sweeps/*.yaml          matrices of simulations that reproduce studies, for
//	                       condorsim sweep NAME; each says which figures
//
// Beside them are files for administrators, which no binary has:
//
//	grafana/backfill.json  a dashboard for Grafana
//	prometheus/*.yml       alerts for Prometheus with their tests, and an example of how
//	                       it scrapes the negotiator
//	packages/              what .deb and .rpm packages are made of, and do when they
//	                       come and go
//
// Read one of those that are built in with
//
//	text, err := fs.ReadFile(configs.Files(), configs.FourNodes)
package configs

import (
	"embed"
	"io/fs"
	"strings"
)

// The paths of some of the files.
const (
	FourNodes  = "pools/four-nodes.ads" // machine ads
	NPB54      = "workloads/npb54.ads"  // job ads, in order of submit time
	Negotiator = "negotiator.yaml"      // the defaults, explained
	HTCondor   = "htcondor/backfill.conf"
)

//go:embed negotiator.yaml htcondor/*.conf pools/*.ads pools/*.yaml workloads/*.ads workloads/*.swf.gz sweeps/*.yaml
var files embed.FS

// TracePath returns the path of the synthetic trace of that name, such as lublin-128.
func TracePath(name string) string { return tracesBegin + name + tracesEnd }

const (
	tracesBegin = "workloads/"
	tracesEnd   = ".swf.gz"
)

// Traces returns the names of the synthetic traces.
func Traces() []string {
	names, _ := fs.Glob(files, TracePath("*")) // the pattern is valid
	for i, path := range names {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(path, tracesBegin), tracesEnd)
	}
	return names
}

// Files returns the embedded files, for reading only. Opening a path that is named in this package
// never fails.
func Files() fs.FS { return files }
