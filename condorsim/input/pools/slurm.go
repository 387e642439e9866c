package pools

import (
	"fmt"
	"io"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/slurm"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Attributes of slots that are nodes of Slurm: the partitions that a node is in, and its features, with commas
// between them. Jobs of traces do not ask for them.
const (
	SlurmPartitions = "SlurmPartitions"
	SlurmFeatures   = "SlurmFeatures"
)

// fromSlurm makes a pool of nodes of Slurm, each of which is a partitionable slot with its cpus, memory and GPUs.
// Nodes that are down or drained are left out, and counted. A file without nodes is an error.
func fromSlurm(text io.Reader, file string, schema negotiator.Schema) (*Description, error) {
	nodes, err := slurm.ReadNodes(text, file)
	if err != nil {
		return nil, err
	}
	if len(nodes.Usable) == 0 {
		return nil, fmt.Errorf("%s: there is no node in it that can run jobs; %d are down or drained", file, nodes.Down)
	}
	p := &Description{Schema: schema, LeftOut: LeftOut{Down: nodes.Down}}
	p.Schema.Resources = resourcesOf(nodes.Usable)
	shared := map[string]*classad.ClassAd{} // by what nodes have
	for i := range nodes.Usable {
		n := &nodes.Usable[i]
		alike := fmt.Sprint(n.Cpus, n.Memory, n.GPUs, n.Partitions, n.Features)
		ad := shared[alike]
		if ad == nil {
			if ad, err = adOf(n, p.Schema.Resources); err != nil {
				return nil, fmt.Errorf("%s: node %s: %w", file, n.Name, err)
			}
			shared[alike] = ad
		}
		own := ad.Clone()
		own.SetString("Name", n.Name)
		own.SetString("Machine", n.Name)
		slot, err := p.Schema.SlotFromAd(own)
		if err != nil {
			return nil, fmt.Errorf("%s: node %s: %w", file, n.Name, err)
		}
		p.Slots = append(p.Slots, slot)
	}
	negotiator.CountJobs(&p.Schema, p.Slots)
	return p, nil
}

// resourcesOf returns the resources that any node has.
func resourcesOf(nodes []slurm.Node) []string {
	list := []string{"cpus"}
	var memory, gpus int64
	for i := range nodes {
		memory, gpus = max(memory, nodes[i].Memory), max(gpus, nodes[i].GPUs)
	}
	if memory > 0 {
		list = append(list, "memory")
	}
	if gpus > 0 {
		list = append(list, "gpus")
	}
	return list
}

// adOf returns the ad of a node, without its name.
func adOf(n *slurm.Node, resources []string) (*classad.ClassAd, error) {
	amounts := map[string]int64{"cpus": n.Cpus, "gpus": n.GPUs}
	if len(resources) > 1 && resources[1] == "memory" {
		amounts["memory"] = n.Memory
	}
	ad, err := (&class{Type: "partitionable"}).ad(amounts, nil)
	if err != nil {
		return nil, err
	}
	if len(n.Partitions) > 0 {
		ad.SetString(SlurmPartitions, strings.Join(n.Partitions, ","))
	}
	if len(n.Features) > 0 {
		ad.SetString(SlurmFeatures, strings.Join(n.Features, ","))
	}
	return ad, nil
}
