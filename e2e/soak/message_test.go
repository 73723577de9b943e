package soak

import (
	"strconv"
	"strings"
)

// revision returns the key of a generation, as Holdfast names it.
func revision(key string, generation int) string {
	if generation == 0 {
		return key
	}
	return key + ":r" + strconv.Itoa(generation)
}

// parseRevision is the inverse of revision.
func parseRevision(revised string) (key string, generation int) {
	key, number, _ := strings.Cut(revised, ":r")
	generation, _ = strconv.Atoi(number)
	return key, generation
}

// noteOf returns the entity of a key, which it shares with the nine next to it.
func noteOf(key string) string { return key[:len(key)-1] }

// bodyOf returns the body of a generation of an event.
func bodyOf(key string, generation int) string {
	return `{"id":"` + key + `","note":"` + noteOf(key) + `","field":"` + revision(key, generation) + `"}`
}
