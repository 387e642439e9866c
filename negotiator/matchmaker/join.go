package matchmaker

import "slices"

// fewUsers is how many users of an autocluster are looked up one by one. A schedd can have very many.
const fewUsers = 16

// join counts a job of a user.
func (m *Matchmaker) join(c *autocluster, name string) {
	c.draws = 0
	if len(c.users) == 0 {
		m.unused--
		m.open = m.open || !m.current(c)
	}
	if i := c.find(name); i >= 0 {
		c.users[i].jobs++
		return
	}
	if c.userAt != nil {
		c.userAt[name] = len(c.users)
	}
	c.users = append(c.users, user{name, 1})
}

// Leave says that a job of a user has left an autocluster.
func (m *Matchmaker) Leave(id int, name string) {
	c := m.clusters[id]
	i := c.find(name)
	if c.users[i].jobs--; c.users[i].jobs > 0 {
		return
	}
	if last := len(c.users) - 1; c.userAt == nil {
		c.users = slices.Delete(c.users, i, i+1)
	} else {
		c.users[i] = c.users[last]
		c.userAt[c.users[i].name] = i
		delete(c.userAt, name)
		c.users = c.users[:last]
	}
	if len(c.users) == 0 {
		c.userAt = nil
		m.unused++
	}
}

// find returns where a user of the autocluster is in its list, or -1.
func (c *autocluster) find(name string) int {
	if c.userAt == nil {
		if len(c.users) <= fewUsers {
			return slices.IndexFunc(c.users, func(u user) bool { return u.name == name })
		}
		c.userAt = make(map[string]int, 2*len(c.users))
		for i, u := range c.users {
			c.userAt[u.name] = i
		}
	}
	if i, known := c.userAt[name]; known {
		return i
	}
	return -1
}
