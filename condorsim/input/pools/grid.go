package pools

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// grid describes a machine such as Blue Gene/P: a box of midplanes along x, y and z, whose
// partitions are smaller boxes. The midplanes of each line are cabled to a ring.
//
//	kind: partitioned
//	grid:
//	  midplanes: [2, 2, 2]
//	  nodes: 512
//	  node_cpus: 4
//	  torus: [z]
//	  boxes:
//	    - {size: [1, 1, 1]}
//	    - {size: [1, 1, 2]}
//	    - {size: [1, 1, 2], mesh: true}
//	    - {size: [2, 2, 2], at: [[0, 0, 0]]}
//
// A midplane is named after its place, such as m-0.1.1; a partition after its nodes and its first
// and last midplane, such as 1024-0.0.0-0.0.1; a wire after its dimension and the place of its
// line, such as z-0.1, with a number if there are several.
type grid struct {
	// Midplanes is their number along x, y and z.
	Midplanes []int `yaml:"midplanes"`
	// Nodes is the number of nodes of a midplane. NodeCpus is how many of a trace's processors a
	// node counts as: 1 if they are nodes, 4 if they are the cores of Blue Gene/P.
	Nodes    int64 `yaml:"nodes"`
	NodeCpus int64 `yaml:"node_cpus"`
	// Torus are the dimensions whose wires partitions cannot share. A partition that is longer than
	// one midplane in such a dimension takes the wires of the whole line: it closes its ring
	// through all other midplanes. One that is one midplane long takes none.
	Torus []string `yaml:"torus"`
	Boxes []box    `yaml:"boxes"`
}

// box is a shape of partitions: its midplanes along x, y and z.
type box struct {
	Size []int `yaml:"size"`
	// At are the first midplanes of the boxes; without it, there is a box at each multiple of its
	// size that has room for one.
	At [][]int `yaml:"at"`
	// Mesh partitions do not close their rings: they take only the wires between their own
	// midplanes.
	Mesh bool `yaml:"mesh"`
}

// place is the coordinates of a midplane, or the lengths of a box.
type place [3]int

func (p place) String() string { return fmt.Sprintf("%d.%d.%d", p[0], p[1], p[2]) }

// within reports whether the place is in a box of that size at the origin.
func (p place) within(size place) bool { return p[0] < size[0] && p[1] < size[1] && p[2] < size[2] }

// each calls the function do for each place in a box of size p at the origin.
func (p place) each(do func(at place)) {
	for at := (place{}); at[0] < p[0]; at[0]++ {
		for at[1] = 0; at[1] < p[1]; at[1]++ {
			for at[2] = 0; at[2] < p[2]; at[2]++ {
				do(at)
			}
		}
	}
}

// plus returns the place p moved by the coordinates of origin.
func (p place) plus(origin place) place {
	return place{p[0] + origin[0], p[1] + origin[1], p[2] + origin[2]}
}

// parsePlace makes a place of three numbers along x, y and z. It is an error if there are not
// three, or one of them is below the parameter least or too large.
func (b *builder) parsePlace(at string, numbers []int, least int) (p place, err error) {
	if len(numbers) != len(p) {
		return p, b.wrong(at, "must be three numbers, along x, y and z")
	}
	for d, n := range numbers {
		if n < least || n > maxParts {
			return p, b.wrong(fmt.Sprintf("%s[%d]", at, d), "%d: must be from %d to %d", n, least, maxParts)
		}
	}
	return place(numbers), nil
}

var dimensions = []string{"x", "y", "z"}

// spanGrid turns the grid into classes of midplanes, wires and partitions.
func (b *builder) spanGrid() error {
	g := b.d.Grid
	size, err := b.parsePlace("grid.midplanes", g.Midplanes, 1)
	if err != nil {
		return err
	}
	switch midplanes := size[0] * size[1] * size[2]; {
	case midplanes > maxParts:
		return b.wrong("grid.midplanes", "%d of them: must be at most %d", midplanes, maxParts)
	case g.Nodes < 1 || g.Nodes > backfill.MaxInputAmount:
		return b.wrong("grid.nodes", "%d: must be from 1 to %d", g.Nodes, int64(backfill.MaxInputAmount))
	case g.NodeCpus < 1 || g.NodeCpus > backfill.MaxInputAmount/g.Nodes/int64(midplanes):
		return b.wrong("grid.node_cpus", "%d: must be from 1 to %d", g.NodeCpus,
			backfill.MaxInputAmount/g.Nodes/int64(midplanes))
	case len(g.Boxes) == 0:
		return b.wrong("grid", "must have boxes, which are its partitions")
	}
	size.each(func(at place) {
		b.d.Classes = append(b.d.Classes, class{Name: "m-" + at.String(), Cpus: g.Nodes * g.NodeCpus, alone: true})
	})
	wires, err := b.newWiring(size)
	if err != nil {
		return err
	}
	for i := range g.Boxes {
		if err = b.addBoxes(fmt.Sprintf("grid.boxes[%d]", i), &g.Boxes[i], size, wires); err != nil {
			return err
		}
	}
	wires.lay(&b.d)
	return nil
}

// addBoxes adds the partitions of a shape, one for each place of the box, and records in the wiring
// which links they take.
func (b *builder) addBoxes(at string, x *box, machine place, w *wiring) error {
	size, err := b.parsePlace(at+".size", x.Size, 1)
	if err != nil {
		return err
	}
	if !size.within(machine.plus(place{1, 1, 1})) {
		return b.wrong(at+".size", "%v midplanes: the machine has %v", size, machine)
	}
	var origins []place
	for i, first := range x.At {
		where := fmt.Sprintf("%s.at[%d]", at, i)
		origin, err := b.parsePlace(where, first, 0)
		if err != nil {
			return err
		}
		if last := origin.plus(size); !last.within(machine.plus(place{1, 1, 1})) {
			return b.wrong(where, "the box sticks out: the machine has %v midplanes", machine)
		}
		origins = append(origins, origin)
	}
	if len(x.At) == 0 {
		(place{machine[0] / size[0], machine[1] / size[1], machine[2] / size[2]}).each(func(n place) {
			origins = append(origins, place{n[0] * size[0], n[1] * size[1], n[2] * size[2]})
		})
	}
	if n := len(b.d.Partitions) + len(origins); n > maxPartitions {
		return b.wrong(at, "with it there are %d partitions: must be at most %d", n, maxPartitions)
	}
	if w.shares += size[0] * size[1] * size[2] * len(origins); w.shares > maxShares {
		return b.wrong(at, "with it the partitions have %d midplanes in all: must be at most %d", w.shares, maxShares)
	}
	for _, origin := range origins {
		p := partition{at: at, Name: fmt.Sprintf("%d-%v", int64(size[0]*size[1]*size[2])*b.d.Grid.Nodes, origin)}
		if size != (place{1, 1, 1}) {
			p.Name += "-" + size.plus(place{-1, -1, -1}).plus(origin).String()
		}
		if x.Mesh {
			p.Name = "mesh-" + p.Name
		}
		size.each(func(n place) { p.Slots = append(p.Slots, "m-"+n.plus(origin).String()) })
		w.take(len(b.d.Partitions), origin, size, x.Mesh)
		b.d.Partitions = append(b.d.Partitions, p)
	}
	return nil
}

// wiring records which partitions take which links. A link joins a midplane to the next in its
// dimension; the link of a line's last midplane leads to its first.
type wiring struct {
	machine place
	torus   [3]bool
	takers  [3]map[place][]int // partitions by link; a link is named after its first midplane
	shares  int                // sum of the partitions' midplanes so far
}

func (b *builder) newWiring(machine place) (*wiring, error) {
	w := &wiring{machine: machine}
	for i, name := range b.d.Grid.Torus {
		d := strings.Index("xyz", name)
		if len(name) != 1 || d < 0 {
			return nil, b.wrong(fmt.Sprintf("grid.torus[%d]", i), "%q: must be x, y or z", name)
		}
		w.torus[d] = true
	}
	for d := range w.takers {
		w.takers[d] = map[place][]int{}
	}
	return w, nil
}

// take records the links that a partition needs.
func (w *wiring) take(partition int, origin, size place, mesh bool) {
	for d, torus := range w.torus {
		if !torus || size[d] == 1 {
			continue
		}
		lines, links := size, w.machine[d]
		lines[d] = 1
		first := 0
		if mesh {
			first, links = origin[d], size[d]-1
		}
		lines.each(func(n place) {
			link := n.plus(origin)
			for i := range links {
				link[d] = first + i
				w.takers[d][link] = append(w.takers[d][link], partition)
			}
		})
	}
}

// lay adds the links to the description as wires, which are slots, and each wire to the partitions
// that take it. Links of a line that the same partitions take become one wire, as no decision can
// tell them apart. Links that no partition takes are left out.
func (w *wiring) lay(d *description) {
	for dim := range w.takers {
		lines := w.machine
		lines[dim] = 1
		lines.each(func(link place) {
			var groups [][]int // the partitions of each slot
			seen := map[string]bool{}
			for link[dim] = 0; link[dim] < w.machine[dim]; link[dim]++ {
				takers := w.takers[dim][link]
				if key := fmt.Sprint(takers); len(takers) > 0 && !seen[key] {
					seen[key] = true
					groups = append(groups, takers)
				}
			}
			link[dim] = 0
			for n, takers := range groups {
				name := lineName(dim, link)
				if len(groups) > 1 {
					name += fmt.Sprintf("-%d", n+1)
				}
				d.Wires = append(d.Wires, name)
				for _, p := range takers {
					d.Partitions[p].Slots = append(d.Partitions[p].Slots, name)
				}
			}
		})
	}
}

// lineName returns the name of the line along a dimension through a midplane.
func lineName(dim int, at place) string {
	var other []string
	for d, n := range at {
		if d != dim {
			other = append(other, strconv.Itoa(n))
		}
	}
	return dimensions[dim] + "-" + strings.Join(other, ".")
}
