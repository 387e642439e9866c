package estimate

import (
	"slices"
	"sort"
)

// ranked is a multiset of ratios from which one is taken by its rank. They lie ascending
// in blocks of up to blockSize, so that one comes and goes at the cost of moving part of
// a block, which is less than the way down a tree of as many; and a block is passed over
// at a glance.
type ranked struct {
	blocks [][]ratio // none is empty
	count  int
}

const blockSize = 512

func (s *ranked) add(r ratio) {
	s.count++
	if len(s.blocks) == 0 {
		s.blocks = [][]ratio{{r}}
		return
	}
	b, i := s.find(r)
	block := slices.Insert(s.blocks[b], i, r)
	s.blocks[b] = block
	if len(block) > blockSize {
		half := slices.Clone(block[blockSize/2:])
		s.blocks[b] = block[:blockSize/2]
		s.blocks = slices.Insert(s.blocks, b+1, half)
	}
}

// remove takes out one that is equal, which there is.
func (s *ranked) remove(r ratio) {
	s.count--
	b, i := s.find(r)
	s.blocks[b] = slices.Delete(s.blocks[b], i, i+1)
	s.join(b)
	if b > 0 {
		s.join(b - 1)
	}
}

// join makes one block of two small ones, and none of an empty one.
func (s *ranked) join(b int) {
	switch {
	case len(s.blocks[b]) == 0:
		s.blocks = slices.Delete(s.blocks, b, b+1)
	case b+1 < len(s.blocks) && len(s.blocks[b])+len(s.blocks[b+1]) <= blockSize/2:
		s.blocks[b] = append(s.blocks[b], s.blocks[b+1]...)
		s.blocks = slices.Delete(s.blocks, b+1, b+2)
	}
}

// find is the block and the place in it of the first that is not less; the end of the
// last block if all are.
func (s *ranked) find(r ratio) (b, i int) {
	b = sort.Search(len(s.blocks)-1, func(b int) bool { return !s.blocks[b][len(s.blocks[b])-1].less(r) })
	block := s.blocks[b]
	return b, sort.Search(len(block), func(i int) bool { return !block[i].less(r) })
}

// at is the one of that rank, from 0. The way to it is from the nearer end.
func (s *ranked) at(rank int) ratio {
	if rank < s.count/2 {
		b := 0
		for rank >= len(s.blocks[b]) {
			rank -= len(s.blocks[b])
			b++
		}
		return s.blocks[b][rank]
	}
	b, fromEnd := len(s.blocks)-1, s.count-rank
	for fromEnd > len(s.blocks[b]) {
		fromEnd -= len(s.blocks[b])
		b--
	}
	return s.blocks[b][len(s.blocks[b])-fromEnd]
}
