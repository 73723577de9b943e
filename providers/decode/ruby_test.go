package decode

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ruby's notation is parsed: text that looks like notation stays text.
func TestRubyNotation(t *testing.T) {
	t.Parallel()
	for ruby, want := range map[string]string{
		`{}`: `{}`,
		`{"id"=>65001, "mileage"=>[101100, 102000]}`:       `{"id":65001,"mileage":[101100,102000]}`,
		`{"note"=>"a => b, nil, {\"x\"=>1}"}`:              `{"note":"a => b, nil, {\"x\"=>1}"}`,
		`{"a"=>nil, "b"=>true, "c"=>false, "d"=>-1.5e-05}`: `{"a":null,"b":true,"c":false,"d":-1.5e-05}`,
		`{:sym=>:other, :"two words"=>1}`:                  `{"sym":"other","two words":1}`,
		`{"new" => 1, style: "x", "quoted key": nil}`:      `{"new":1,"style":"x","quoted key":null}`,
		`{1=>"one", nil=>2}`:                               `{"1":"one","":2}`,
		`{"e"=>"\e[0m\u00e9\u{1F600}\#{x}\t\x41"}`:         `{"e":"\u001b[0mé😀#{x}\tA"}`,
		`{"big"=>12345678901234567890}`:                    `{"big":12345678901234567890}`,
		`{"nested"=>{"a"=>[{"b"=>[]}]}}`:                   `{"nested":{"a":[{"b":[]}]}}`,
		`{"json": "is taken too"}`:                         `{"json":"is taken too"}`,
	} {
		v, err := Ruby(ruby)
		require.NoError(t, err, ruby)
		got, err := json.Marshal(v)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), ruby)
	}
}

func TestInvalidRubyIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		``, `{`, `{"a"=>}`, `{"a"=>1,,}`, `{"a" 1}`, `{"a"=>1} x`, `{"a"=>"x}`, `{"a"=>"\u12"}`, `{"a"=>{"b"=>1}`, `[,]`,
		`{"a"=>"\u{1234567}"}`, `{"a"=>#<Object}`, `{=>1}`, "{\"a\"=>\"\xff\"}", `{"a"=>1, "b"=>1 2 "3"}`, `{"a"=>{]}`,
	} {
		_, err := Ruby(s)
		require.Error(t, err, s)
	}
}

// The lenient parse takes inspected objects as text, completely.
func TestLenientRuby(t *testing.T) {
	t.Parallel()
	for ruby, want := range map[string]string{
		`{"id"=>7, "at"=>Wed, 01 May 2024 10:00:00 UTC +00:00, "to"=>nil}`: `{"id":7,"at":"Wed, 01 May 2024 10:00:00 UTC +00:00","to":null}`,
		`{"at"=>2024-05-01 10:00:00 UTC, "n"=>[1, 2]}`:                     `{"at":"2024-05-01 10:00:00 UTC","n":[1,2]}`,
		`{"sum"=>#<Money "1, EUR">, "x"=>{"y"=>#<A {:b=>1}>}}`:             `{"sum":"#<Money \"1, EUR\">","x":{"y":"#<A {:b=>1}>"}}`,
		`{"a"=>[1, 2,], "b"=>{"c"=>1,},}`:                                  `{"a":[1,2],"b":{"c":1}}`,
		`{a=>1, "b"=>"\q", "c"=>01, "d"=>Infinity}`:                        `{"a":1,"b":"q","c":"01","d":null}`,
	} {
		v, err := Ruby(ruby)
		require.NoError(t, err, ruby)
		got, err := json.Marshal(v)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), ruby)
	}
}

// Values as the versions of Ruby and Rails print them. Each line's forms give one state.
func TestRubyVersionsGiveOneState(t *testing.T) {
	t.Parallel()
	for want, forms := range map[string][]string{
		`{"a":"И","b":"Ðx","c":"Иé"}`:                         {`{"a"=>"\xD0\x98", "b"=>"\xD0x", "c"=>"\xD0\x98\xE9"}`, `{"a" => "И", "b" => "Ðx", "c" => "\u0418é"}`},
		`{"a":["1 hour, 2 minutes, and 3 seconds",5]}`:        {`{:a=>[1 hour, 2 minutes, and 3 seconds, 5]}`, `{a: [1 hour, 2 minutes, and 3 seconds, 5]}`},
		`{"a":["1 hour","1 hour, 2 minutes, and 3 seconds"]}`: {`{:a=>[1 hour, 1 hour, 2 minutes, and 3 seconds]}`},
		`{"a":["1 hour and 2 minutes","-1 days"]}`:            {`{:a=>[1 hour and 2 minutes, -1 days]}`},
		`{"a":[1,2],"b":[]}`:                                  {`{:a=>#<Set: {1, 2}>, :b=>#<Set: {}>}`, `{a: #<Set: {1, 2}>, b: #<Set: {}>}`, `{a: Set[1, 2], b: Set[]}`},
		`{"a":"#<Note text=\"1 < 2 > 3\">","b":1}`:            {`{:a=>#<Note text="1 < 2 > 3">, :b=>1}`, `{a: #<Note text="1 < 2 > 3">, b: 1}`},
		`{"a":"2024-05-01..2024-05-03"}`:                      {`{:a=>2024-05-01..2024-05-03}`, `{a: 2024-05-01..2024-05-03}`},
		`{"a":["Wed, 01 May 2024..Fri, 03 May 2024",1]}`:      {`{:a=>[Wed, 01 May 2024..Fri, 03 May 2024, 1]}`, `{a: [Wed, 01 May 2024..Fri, 03 May 2024, 1]}`},
		`{"a":"\"a\"..\"c, d\"","b":"\"a\"...nil"}`:           {`{:a=>"a".."c, d", :b=>"a"...nil}`, `{a: "a".."c, d", b: "a"...nil}`},
		`{"Wed, 01 May 2024":1,"[1,\"x\"]":2,"#<Money 1, EUR>":3}`: {
			`{Wed, 01 May 2024=>1, [1, "x"]=>2, #<Money 1, EUR>=>3}`, `{Wed, 01 May 2024 => 1, [1, "x"] => 2, #<Money 1, EUR> => 3}`,
		},
		`{"a":["/x{1,2}\\/,y/i",1]}`: {`{:a=>[/x{1,2}\/,y/i, 1]}`, `{a: [/x{1,2}\/,y/i, 1]}`},
		`{"a":["+","[]=","<=>","name="],"<":1,"<=>":2,"==":3,"name=":4}`: {
			`{:a=>[:+, :[]=, :<=>, :name=], :<=>1, :<=>=>2, :===>3, :name==>4}`,
			`{a: [:+, :[]=, :<=>, :name=], "<": 1, "<=>": 2, "==": 3, "name=": 4}`,
		},
	} {
		for _, form := range forms {
			v, err := Ruby(form)
			require.NoError(t, err, form)
			got, err := json.Marshal(v)
			require.NoError(t, err)
			require.JSONEq(t, want, string(got), form)
		}
	}
}

func FuzzRuby(f *testing.F) {
	for _, s := range []string{`{"a"=>nil, :b=>[1, "x\u{e9}"], c: {1=>2.0}}`, `{"a"=>"\`, `{nil=>:"x"}`, `[`, `{"a": 1}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Ruby(s)
		if err != nil {
			return
		}
		_, err = json.Marshal(v)
		require.NoError(t, err)
	})
}
