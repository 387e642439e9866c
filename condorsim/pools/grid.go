package pools

import (
	"fmt"
	"strconv"
	"strings"
)

// grid describes a machine such as Blue Gene/P: midplanes, so many along x, y and z,
// of which partitions are boxes. The midplanes of a line are cabled to a ring.
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
// A midplane is called m- and its place, such as m-0.1.1; a partition by its nodes and
// its first and last midplane, such as 1024-0.0.0-0.0.1; a wire by its dimension and
// the place of its line, such as z-0.1, and a number where it is one of several.
type grid struct {
	// Midplanes is how many there are along x, y and z.
	Midplanes []int `yaml:"midplanes"`
	// Nodes is how many a midplane has, and NodeCpus what a node counts for in a
	// trace: 1 where a trace's processors are nodes, 4 where they are the cores of
	// Blue Gene/P.
	Nodes    int64 `yaml:"nodes"`
	NodeCpus int64 `yaml:"node_cpus"`
	// Torus are the dimensions whose wires two partitions cannot share. One that is
	// longer than a midplane in such a dimension, and shorter than the line, closes its
	// ring through all others of the line: it takes the wires of the whole line. One of
	// full length does so, too, and one that is a midplane long takes none.
	Torus []string `yaml:"torus"`
	Boxes []box    `yaml:"boxes"`
}

// box is a shape of partitions: so many midplanes along x, y and z.
type box struct {
	Size []int `yaml:"size"`
	// At are the first midplanes; without it, there is a box at each multiple of its
	// size that leaves room for one.
	At [][]int `yaml:"at"`
	// Mesh partitions do not close their rings: they take the wires between their own
	// midplanes alone.
	Mesh bool `yaml:"mesh"`
}

// place is a midplane's, or the lengths of a box.
type place [3]int

func (p place) String() string { return fmt.Sprintf("%d.%d.%d", p[0], p[1], p[2]) }

// within reports whether a place is in a box that begins at the origin.
func (p place) within(size place) bool { return p[0] < size[0] && p[1] < size[1] && p[2] < size[2] }

// each calls for each place of a box that begins at the origin.
func (p place) each(do func(at place)) {
	for at := (place{}); at[0] < p[0]; at[0]++ {
		for at[1] = 0; at[1] < p[1]; at[1]++ {
			for at[2] = 0; at[2] < p[2]; at[2]++ {
				do(at)
			}
		}
	}
}

// plus is where a place is that is counted from an origin.
func (p place) plus(origin place) place {
	return place{p[0] + origin[0], p[1] + origin[1], p[2] + origin[2]}
}

// parsePlace checks numbers along x, y and z.
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

// spanGrid puts the grid's midplanes, wires and boxes for classes, wires and
// partitions.
func (b *builder) spanGrid() error {
	g := b.d.Grid
	size, err := b.parsePlace("grid.midplanes", g.Midplanes, 1)
	if err != nil {
		return err
	}
	switch midplanes := size[0] * size[1] * size[2]; {
	case midplanes > maxParts:
		return b.wrong("grid.midplanes", "%d of them: must be at most %d", midplanes, maxParts)
	case g.Nodes < 1 || g.Nodes > maxAmount:
		return b.wrong("grid.nodes", "%d: must be from 1 to %d", g.Nodes, int64(maxAmount))
	case g.NodeCpus < 1 || g.NodeCpus > maxAmount/g.Nodes/int64(midplanes):
		return b.wrong("grid.node_cpus", "%d: must be from 1 to %d", g.NodeCpus, maxAmount/g.Nodes/int64(midplanes))
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

// addBoxes makes the partitions of a shape.
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

// wiring is which partitions take which links. A link is between a midplane and the
// next in its dimension; that of a line's last one leads to the first.
type wiring struct {
	machine place
	torus   [3]bool
	takers  [3]map[place][]int // partitions by link, which is called after its first midplane
	shares  int                // midplanes of partitions so far
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

// take lets a partition take the links that it needs.
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

// lay makes slots of the links. Those of a line which the same partitions take are
// one: no decision can tell them apart. Those that none takes are left out.
func (w *wiring) lay(d *description) {
	for dim := range w.takers {
		lines := w.machine
		lines[dim] = 1
		lines.each(func(link place) {
			var groups [][]int // the takers of each slot
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

// lineName is what the line along a dimension through a midplane is called.
func lineName(dim int, at place) string {
	var other []string
	for d, n := range at {
		if d != dim {
			other = append(other, strconv.Itoa(n))
		}
	}
	return dimensions[dim] + "-" + strings.Join(other, ".")
}
