package payloadcodec_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"holdfast/internal/payloadcodec"
)

func newKey(t testing.TB, id string) payloadcodec.Key {
	t.Helper()
	k, err := payloadcodec.NewKey(id)
	require.NoError(t, err)
	return k
}

func codec(keys ...payloadcodec.Key) *payloadcodec.Codec { return payloadcodec.New(keys) }

// payload returns an event's body as the ingress sends it.
func payload(data string) *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON), "x": []byte("CANARY")},
		Data:     []byte(data),
	}
}

func encode(t testing.TB, c *payloadcodec.Codec, p *commonpb.Payload) *commonpb.Payload {
	t.Helper()
	sealed, err := c.Encode([]*commonpb.Payload{p})
	require.NoError(t, err)
	require.Len(t, sealed, 1)
	return sealed[0]
}

// Encryption round-trips a payload with its metadata and reveals nothing:
//   - equal payloads have different ciphertexts
//   - the given payload isn't changed
func TestEncryptedPayloadsAreDecrypted(t *testing.T) {
	t.Parallel()
	c := codec(newKey(t, "2026"))
	for _, data := range []string{"", "{}", "\x00\xff CANARY", strings.Repeat("CANARY", 200_000)} {
		given := payload(data)
		sealed := encode(t, c, given)
		require.True(t, proto.Equal(payload(data), given))
		text, err := proto.Marshal(sealed)
		require.NoError(t, err)
		require.NotContains(t, string(text), "CANARY")
		require.Equal(t, map[string][]byte{
			"encoding": []byte("binary/encrypted"), "encryption-key-id": []byte("2026"),
		}, sealed.GetMetadata())
		require.NotEqual(t, sealed.GetData(), encode(t, c, given).GetData())

		before := bytes.Clone(sealed.GetData())
		opened, err := c.Decode([]*commonpb.Payload{sealed})
		require.NoError(t, err)
		require.True(t, proto.Equal(given, opened[0]))
		require.Equal(t, before, sealed.GetData())
	}
}

// A rotation:
//   - the first key encrypts, the old one still decrypts
//   - payloads older than any key stay readable, with keys and after them
//   - a missing key is named
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	old, young := newKey(t, "old"), newKey(t, "young")
	plain, sealed := payload("1"), encode(t, codec(old), payload("2"))
	c := codec(young, old)
	require.Equal(t, "young", string(encode(t, c, plain).GetMetadata()[payloadcodec.MetadataKeyID]))
	opened, err := c.Decode([]*commonpb.Payload{plain, sealed})
	require.NoError(t, err)
	require.Equal(t, "1 2", fmt.Sprintf("%s %s", opened[0].GetData(), opened[1].GetData()))

	for _, c := range []*payloadcodec.Codec{codec(young), codec()} {
		_, err = c.Decode([]*commonpb.Payload{plain, sealed})
		var missing *payloadcodec.MissingKeyError
		require.ErrorAs(t, err, &missing)
		require.Equal(t, "old", missing.ID)
		require.ErrorContains(t, err, `"old"`)
	}
	require.Same(t, plain, encode(t, codec(), plain))
}

// Any change of an encrypted payload, including its key's ID, is detected.
func TestAChangedPayloadIsRefused(t *testing.T) {
	t.Parallel()
	k := newKey(t, "one")
	text := strings.TrimPrefix(k.Entry(), "one:")
	same, err := payloadcodec.ParseKeys(k.Entry() + ",two:" + text)
	require.NoError(t, err)
	for name, change := range map[string]func(*commonpb.Payload){
		"a bit of the nonce":          func(p *commonpb.Payload) { p.Data[0] ^= 1 },
		"a bit of the text":           func(p *commonpb.Payload) { p.Data[len(p.Data)/2] ^= 1 },
		"the end":                     func(p *commonpb.Payload) { p.Data = p.Data[:len(p.Data)-1] },
		"everything":                  func(p *commonpb.Payload) { p.Data = nil },
		"the id, over the same bytes": func(p *commonpb.Payload) { p.Metadata[payloadcodec.MetadataKeyID] = []byte("two") },
	} {
		sealed := encode(t, codec(same...), payload("CANARY"))
		change(sealed)
		_, err := codec(same...).Decode([]*commonpb.Payload{sealed})
		require.ErrorIs(t, err, payloadcodec.ErrUnreadable, name)
	}
	_, err = codec(newKey(t, "one")).Decode([]*commonpb.Payload{encode(t, codec(k), payload("x"))})
	require.ErrorIs(t, err, payloadcodec.ErrUnreadable, "another key of the same id")
}

func TestKeysAreReadAndMisreadWithoutBeingShown(t *testing.T) {
	t.Parallel()
	a, b := newKey(t, "a"), newKey(t, "2026-01.b_c")
	keys, err := payloadcodec.ParseKeys(" " + a.Entry() + " ,\r\n" + b.Entry() + "\n")
	require.NoError(t, err)
	require.Equal(t, []payloadcodec.Key{a, b}, keys)
	none, err := payloadcodec.ParseKeys(" ")
	require.NoError(t, err)
	require.Empty(t, none)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.Equal(t, "payload key a", fmt.Sprintf(verb, a))
	}

	long := base64.StdEncoding.EncodeToString([]byte("CANARY CANARY CANARY CANARY CANARY"))
	for wrong, problem := range map[string]string{
		"CANARY": "not id:key", long + ":a": "no usable id", "a:CANARY!": "not base64", "a:" + long: "of 34 bytes",
		"a:": "of 0 bytes", ":" + long: "no usable id", a.Entry() + "," + a.Entry(): "the id of another one",
	} {
		_, err := payloadcodec.ParseKeys("ok:" + strings.TrimPrefix(b.Entry(), b.ID+":") + "," + wrong)
		require.ErrorContains(t, err, problem)
		require.ErrorContains(t, err, "entry ")
		require.NotContains(t, err.Error(), "CANARY")
		require.NotContains(t, err.Error(), long)
	}
	_, err = payloadcodec.NewKey("a:b")
	require.Error(t, err)
}

// Messages, stack traces and details of failures are encrypted if there are keys; their types never are.
func TestFailuresAreEncrypted(t *testing.T) {
	t.Parallel()
	cause := temporal.NewApplicationErrorWithCause("CANARY message", "rejected", fmt.Errorf("CANARY cause"), "CANARY detail")
	c := codec(newKey(t, "k"))
	failure := c.FailureConverter().ErrorToFailure(cause)
	require.NotContains(t, failure.String(), "CANARY")
	require.Contains(t, codec().FailureConverter().ErrorToFailure(cause).String(), "CANARY message")

	for _, from := range []converter.FailureConverter{c.FailureConverter(), codec(newKey(t, "new")).FailureConverter()} {
		var back *temporal.ApplicationError
		require.ErrorAs(t, from.FailureToError(failure), &back)
		require.Equal(t, "rejected", back.Type())
	}
	var back *temporal.ApplicationError
	require.ErrorAs(t, c.FailureConverter().FailureToError(failure), &back)
	var detail string
	require.NoError(t, back.Details(&detail))
	require.Equal(t, "CANARY message|CANARY detail", back.Message()+"|"+detail)
	require.ErrorContains(t, back.Unwrap(), "CANARY cause")
}

// The JSON format is that of Temporal's own remote codec.
func TestJSONMatchesTemporal(t *testing.T) {
	t.Parallel()
	c := codec(newKey(t, "k"))
	text := `{"payloads":[{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"e30="}]}`
	sealed, err := c.EncodeJSON([]byte(text))
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "e30=")
	opened, err := c.DecodeJSON(sealed)
	require.NoError(t, err)
	require.JSONEq(t, text, string(opened))

	for _, wrong := range []string{"", "CANARY", `{"payloads":[null]}`, `{"payloads":["CANARY"]}`, `{"CANARY":1}`} {
		_, err := c.DecodeJSON([]byte(wrong))
		require.ErrorIs(t, err, payloadcodec.ErrMalformed)
		require.NotContains(t, err.Error(), "CANARY")
	}
	_, err = codec().DecodeJSON(sealed)
	require.ErrorContains(t, err, `"k"`)
}

// Text that isn't JSON is shown as text, whether or not it was encrypted:
//   - its bytes aren't changed, and the workers' codec doesn't do it
//   - JSON and unreadable payloads stay unchanged
func TestTextIsShownAsText(t *testing.T) {
	t.Parallel()
	encryptor := codec(newKey(t, "k"))
	binary := func(data string) *commonpb.Payload {
		return &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingBinary)}, Data: []byte(data),
		}
	}
	see := func(c *payloadcodec.Codec, p *commonpb.Payload) *commonpb.Payload {
		text, err := protojson.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{p}})
		require.NoError(t, err)
		answer, err := c.DecodeJSON(text)
		require.NoError(t, err)
		var seen commonpb.Payloads
		require.NoError(t, protojson.Unmarshal(answer, &seen))
		return seen.GetPayloads()[0]
	}
	for body, want := range map[string]string{
		"From=%2B49&Body=hi": `"From=%2B49&Body=hi"`, "<a>\n\"é\"</a>": `"<a>\n\"é\"</a>"`, "{broken": `"{broken"`,
	} {
		for _, p := range []*commonpb.Payload{binary(body), encode(t, encryptor, binary(body))} {
			seen := see(encryptor, p)
			require.Equal(t, converter.MetadataEncodingJSON, string(seen.GetMetadata()[converter.MetadataEncoding]))
			require.Equal(t, want, string(seen.GetData()))
		}
		require.Equal(t, want, string(see(codec(), binary(body)).GetData()))
		opened, err := encryptor.Decode([]*commonpb.Payload{encode(t, encryptor, binary(body))})
		require.NoError(t, err)
		require.True(t, proto.Equal(binary(body), opened[0]))
	}
	for _, p := range []*commonpb.Payload{payload(`{"a": 1}`), binary(""), binary("a\x00b"), binary("\xff\xfe")} {
		require.True(t, proto.Equal(p, see(encryptor, p)))
	}
}
