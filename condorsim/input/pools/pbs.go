package pools

import (
	"fmt"
	"io"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pbs"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Attributes of slots that are nodes of PBS or Torque: the only queue whose jobs may run there, and what
// Torque calls properties, with commas between them. Jobs of traces do not ask for them.
const (
	PBSQueue      = "PBSQueue"
	PBSProperties = "PBSProperties"
)

// fromPBS makes a pool of nodes of PBS or Torque, each of which is a partitionable slot with its cpus, memory
// and GPUs. Nodes that are down or offline are left out, and counted. A file without nodes is an error.
func fromPBS(text io.Reader, file string, schema negotiator.Schema) (*Description, error) {
	nodes, err := pbs.ReadNodes(text, file)
	if err != nil {
		return nil, err
	}
	if len(nodes.Usable) == 0 {
		return nil, fmt.Errorf("%s: there is no node in it that can run jobs; %d are down or offline", file, nodes.Down)
	}
	if len(nodes.Usable) > MaxSlots {
		return nil, fmt.Errorf("%s: there are more than %d nodes in it", file, MaxSlots)
	}
	p := &Description{Schema: schema, LeftOut: LeftOut{Down: nodes.Down, Others: nodes.Bare}}
	p.Schema.Resources = []string{"cpus"}
	var most pbs.Node
	for _, n := range nodes.Usable {
		most.Memory, most.GPUs = max(most.Memory, n.Memory), max(most.GPUs, n.GPUs)
	}
	if most.Memory > 0 {
		p.Schema.Resources = append(p.Schema.Resources, "memory")
	}
	if most.GPUs > 0 {
		p.Schema.Resources = append(p.Schema.Resources, "gpus")
	}
	shared := map[pbs.Node]*classad.ClassAd{} // by what nodes have, without their names
	for _, n := range nodes.Usable {
		alike := n
		alike.Name = ""
		if shared[alike] == nil {
			if shared[alike], err = adOfPBS(alike, most.Memory > 0); err != nil {
				return nil, fmt.Errorf("%s: node %s: %w", file, n.Name, err)
			}
		}
		ad := shared[alike].Clone()
		ad.SetString("Name", n.Name)
		ad.SetString("Machine", n.Name)
		slot, err := p.Schema.SlotFromAd(ad)
		if err != nil {
			return nil, fmt.Errorf("%s: node %s: %w", file, n.Name, err)
		}
		p.Slots = append(p.Slots, slot)
	}
	negotiator.CountJobs(&p.Schema, p.Slots)
	return p, nil
}

// adOfPBS returns the ad of a node, without its name. With memory, one of which nothing is said has none.
func adOfPBS(n pbs.Node, memory bool) (*classad.ClassAd, error) {
	if max(n.Cpus, n.Memory, n.GPUs) > backfill.MaxInputAmount {
		return nil, fmt.Errorf("it has more than %d of a resource", int64(backfill.MaxInputAmount))
	}
	amounts := map[string]int64{"cpus": n.Cpus, "gpus": n.GPUs}
	if memory {
		amounts["memory"] = n.Memory
	}
	ad, err := (&class{Type: "partitionable"}).ad(amounts, nil)
	if err != nil {
		return nil, err
	}
	if n.Queue != "" {
		ad.SetString(PBSQueue, n.Queue)
	}
	if n.Properties != "" {
		ad.SetString(PBSProperties, n.Properties)
	}
	return ad, nil
}
