package payloadcodec

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// dataConverter is Temporal's own with a codec.
type dataConverter struct {
	converter.DataConverter

	inWorkflow converter.DataConverter
}

var _ workflow.ContextAware = (*dataConverter)(nil)

// DataConverter returns Temporal's default converter with the codec. A workflow that can't read a payload waits until a worker
// can: in a workflow's code a converter error would end the run, and a key that one worker doesn't have yet, in the middle of a
// deploy, would fail events without their dead letters.
func (c *Codec) DataConverter() converter.DataConverter {
	with := func(codec converter.PayloadCodec) converter.DataConverter {
		return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	}
	return &dataConverter{DataConverter: with(c), inWorkflow: with(insistent{c})}
}

// WithWorkflowContext returns the converter for workflow code.
func (d *dataConverter) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return d.inWorkflow
}

// WithContext returns the converter itself.
func (d *dataConverter) WithContext(context.Context) converter.DataConverter { return d }

// FailureConverter also hides messages and stack traces if the codec encrypts. The types of failures stay in clear.
func (c *Codec) FailureConverter() converter.FailureConverter {
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: c.DataConverter(), EncodeCommonAttributes: c.Encrypts(),
	})
}

// insistent panics if a payload can't be read, which the worker turns into a failed workflow task, and Temporal retries that
// indefinitely.
type insistent struct{ *Codec }

// Decode is the codec's, but panics instead of returning errors.
func (i insistent) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened, err := i.Codec.Decode(payloads)
	if err != nil {
		panic(err)
	}
	return opened, nil
}
