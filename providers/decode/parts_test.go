package decode

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A part is the body with some of the items of its lists, in their order; every item is in one part.
func TestParts(t *testing.T) {
	t.Parallel()
	data := PartLists{Paths: [][]string{{"data"}}, Size: 2}
	updates := PartLists{Paths: [][]string{{"c", "v", "m"}, {"c", "v", "s"}}, Size: 1}
	for name, c := range map[string]struct {
		lists PartLists
		body  string
		want  []string
	}{
		"a list": {data, `{"e": 1,"data": [1 , 2,{"n":1e400}], "i":"x"}`, []string{
			`{"e": 1,"data": [1,2], "i":"x"}`, `{"e": 1,"data": [{"n":1e400}], "i":"x"}`,
		}},
		"no more than a part": {data, `{"data":[1,2]}`, nil},
		"no list":             {data, `{"data":{"0":1}}`, nil},
		"a list twice":        {data, `{"data":[1,2,3],"data":[1,2,3]}`, nil},
		"no JSON":             {data, `{"data":[1,2,3]`, nil},
		"more than JSON":      {data, `{"data":[1,2,3]} x`, nil},
		"lists in a list": {updates, `{"id":1,"c":[{"f":"a","v":{"k":[7,8],"m":[1,2],"s":[3]}},{"f":"b","v":{}},{"f":"c","v":{"s":[4]}},5]}`, []string{
			`{"id":1,"c":[{"f":"a","v":{"k":[7,8],"m":[1],"s":[]}}]}`,
			`{"id":1,"c":[{"f":"a","v":{"k":[7,8],"m":[2],"s":[]}}]}`,
			`{"id":1,"c":[{"f":"a","v":{"k":[7,8],"m":[],"s":[3]}}]}`,
			`{"id":1,"c":[{"f":"b","v":{}}]}`,
			`{"id":1,"c":[{"f":"c","v":{"s":[4]}}]}`,
			`{"id":1,"c":[5]}`,
		}},
		"one update":     {updates, `{"id":1,"c":[ {"f":"a","v":{"m":[1],"s":[]}} ]}`, nil},
		"an empty list":  {updates, `{"c":[{"v":{"m":[]}},{"v":{"s":[1]}}]}`, []string{`{"c":[{"v":{"m":[]}}]}`, `{"c":[{"v":{"s":[1]}}]}`}},
		"a big envelope": {data, `{"data":[1,2,3],"x":"` + strings.Repeat("x", maxRoot) + `"}`, nil},
		"many copies":    {updates, `{"x":"` + strings.Repeat("x", 3000) + `","c":[` + strings.Repeat("1,", 99) + `1]}`, nil},
	} {
		var got []string
		for _, part := range c.lists.Parts([]byte(c.body)) {
			got = append(got, string(part))
		}
		require.Equal(t, c.want, got, name)
	}
}

func FuzzParts(f *testing.F) {
	f.Add(`{"c":[{"v":{"m":[1,2],"s":[3]}},{"v":{}}]}`, 1)
	f.Fuzz(func(t *testing.T, body string, size int) {
		l := PartLists{Paths: [][]string{{"c", "v", "m"}, {"c", "v", "s"}}, Size: max(1, size)}
		for _, part := range l.Parts([]byte(body)) {
			_, err := JSONExactly(part)
			require.NoError(t, err)
			require.Nil(t, l.Parts(part), "a part of a part")
		}
	})
}
