package deploy

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func eachPod(t *testing.T, check func(*testing.T, *objects, pod)) {
	t.Helper()
	eachCase(t, func(t *testing.T, o *objects) {
		for _, p := range o.pods(t) {
			t.Run(p.role, func(t *testing.T) { check(t, o, p) })
		}
	})
}

func containers(p pod) []core.Container {
	return slices.Concat(p.template.Spec.InitContainers, p.template.Spec.Containers)
}

// What the restricted profile of the Pod Security Standards asks for, and a root file system that nothing is written to.
func TestEveryContainerIsHardened(t *testing.T) {
	t.Parallel()
	eachPod(t, func(t *testing.T, _ *objects, p pod) {
		spec := p.template.Spec
		require.False(t, *spec.AutomountServiceAccountToken)
		require.False(t, *spec.EnableServiceLinks, "links would put HOLDFAST_… variables of the services into the environment")
		require.False(t, spec.HostNetwork || spec.HostPID || spec.HostIPC)
		require.True(t, *spec.SecurityContext.RunAsNonRoot)
		require.Equal(t, core.SeccompProfileTypeRuntimeDefault, spec.SecurityContext.SeccompProfile.Type)
		for _, c := range containers(p) {
			require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
			require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
			require.Equal(t, []core.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
			require.Empty(t, c.SecurityContext.Capabilities.Add)
			require.Nil(t, c.SecurityContext.Privileged)
		}
		for _, v := range spec.Volumes {
			require.Nil(t, v.HostPath)
		}
	})
}

func TestContainersAreBoundInMemoryAndAskForCPU(t *testing.T) {
	t.Parallel()
	eachPod(t, func(t *testing.T, _ *objects, p pod) {
		for _, c := range containers(p) {
			request, limit := c.Resources.Requests, c.Resources.Limits
			require.Equal(t, 1, request.Cpu().Cmp(resource.MustParse("10m")))
			require.True(t, limit.Cpu().IsZero(), "a limit throttles")
			require.Equal(t, 1, limit.Memory().Cmp(resource.MustParse("100Mi")))
			require.LessOrEqual(t, request.Memory().Cmp(*limit.Memory()), 0)
		}
	})
}

// A volume without a mount, or a mount without a volume, is a mistake of the chart.
func TestMountsAndVolumesBelongTogether(t *testing.T) {
	t.Parallel()
	eachPod(t, func(t *testing.T, o *objects, p pod) {
		var volumes []string
		for _, v := range p.template.Spec.Volumes {
			volumes = append(volumes, v.Name)
			if v.ConfigMap != nil && len(o.configMaps) > 0 {
				require.True(t, slices.ContainsFunc(o.configMaps, func(m *core.ConfigMap) bool { return m.Name == v.ConfigMap.Name }),
					v.ConfigMap.Name)
			}
		}
		for _, c := range containers(p) {
			var mounted []string
			for _, m := range c.VolumeMounts {
				mounted = append(mounted, m.Name)
				require.True(t, m.ReadOnly)
				require.Empty(t, m.SubPath, "a file that is mounted alone never changes")
			}
			require.ElementsMatch(t, volumes, mounted)
		}
	})
}

func TestRolesAreStartedAndProbedAtPortsThatTheyHave(t *testing.T) {
	t.Parallel()
	paths := operatorPaths(t)
	eachPod(t, func(t *testing.T, _ *objects, p pod) {
		require.Len(t, p.template.Spec.Containers, 1)
		c := p.template.Spec.Containers[0]
		require.Equal(t, p.role, c.Name)
		if p.role == "migration" {
			require.Equal(t, []string{"migrate"}, c.Args)
			require.Empty(t, c.Ports)
			require.Equal(t, core.RestartPolicyNever, p.template.Spec.RestartPolicy)
			return
		}
		require.Equal(t, []string{p.role}, c.Args)
		for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
			require.Equal(t, "operator", probe.HTTPGet.Port.StrVal)
			require.Contains(t, paths, probe.HTTPGet.Path)
			require.Greater(t, probe.TimeoutSeconds, int32(2), "/readyz gives its stores 2 s")
		}
		require.NotEqual(t, c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path,
			"a store that is away is no reason to kill a process")
		require.Equal(t, p.role == "ingress", len(p.template.Spec.InitContainers) == 0,
			"an ingress starts with the database away; everybody else waits for the tables")
		for _, c := range p.template.Spec.InitContainers {
			require.Equal(t, []string{"migrate", "--wait-only"}, c.Args)
		}
	})
}

// The ports of the container are those that the program listens on with this environment.
func TestContainerPortsMatchTheProgram(t *testing.T) {
	t.Parallel()
	eachPod(t, func(t *testing.T, _ *objects, p pod) {
		cfg := load(t, p, p.template.Spec.Containers[0])
		want := map[string]string{"operator": cfg.Operator.Addr}
		if p.role == "ingress" {
			want["webhooks"] = cfg.Ingress.Addr
		}
		if p.role == "migration" {
			want = map[string]string{}
		}
		have := map[string]string{}
		for _, port := range p.template.Spec.Containers[0].Ports {
			have[port.Name] = ":" + resource.NewQuantity(int64(port.ContainerPort), resource.DecimalSI).String()
		}
		require.Equal(t, want, have)
	})
}

// stopMargin is what internal/process has beside the graces.
const stopMargin = 15 * time.Second

func TestPodsAreKilledAfterTheyCouldEnd(t *testing.T) {
	t.Parallel()
	eachPod(t, func(t *testing.T, _ *objects, p pod) {
		if p.role == "migration" {
			return
		}
		cfg := load(t, p, p.template.Spec.Containers[0])
		graces := cfg.Ingress.DrainDelay + cfg.Ingress.ShutdownGrace + cfg.Worker.Grace + cfg.Deliveries.Grace + stopMargin
		require.Greater(t, time.Duration(*p.template.Spec.TerminationGracePeriodSeconds)*time.Second, graces)
		if p.role == "ingress" {
			require.GreaterOrEqual(t, cfg.Ingress.DrainDelay, 10*time.Second, "until nobody routes to it any more")
		}
	})
}

func TestDefinitionsAreWhereTheProgramLooks(t *testing.T) {
	t.Parallel()
	eachPod(t, func(t *testing.T, _ *objects, p pod) {
		cfg := load(t, p, p.template.Spec.Containers[0])
		var mounted string
		for _, v := range p.template.Spec.Volumes {
			if v.ConfigMap != nil {
				mounted = mountPath(t, p.template.Spec.Containers[0], v.Name)
			}
		}
		require.Equal(t, mounted, cfg.Providers.Dir)
	})
}

func mountPath(t *testing.T, c core.Container, volume string) string {
	t.Helper()
	for _, m := range c.VolumeMounts {
		if m.Name == volume {
			return path.Clean(m.MountPath)
		}
	}
	require.Failf(t, "not mounted", "%s in %s", volume, c.Name)
	return ""
}

// A change of the definitions, or of a migration, gives other objects: nothing has to be restarted by hand.
func TestNamesChangeWithTheirEntities(t *testing.T) {
	t.Parallel()
	names := func(values string) (job, definitions string) {
		o := makeObjects(t, loadChart(t), parseValues(t, values))
		require.Len(t, o.jobs, 1)
		require.Len(t, o.configMaps, 1)
		return o.jobs[0].Name, o.configMaps[0].Name
	}
	const before = "providers: {definitions: {acme.yaml: 'name: acme'}}\n"
	job, definitions := names(before)
	again, _ := names(before + "worker: {replicas: 7}\nserviceMonitor: {labels: {a: b}}\n")
	require.Equal(t, job, again, "a Job cannot be changed, so what has nothing to do with it must not")
	for _, change := range []string{"image: {tag: v2}", "config: {HOLDFAST_REPLAY_INTERVAL: 2m}", "database: {secret: {name: other}}"} {
		changed, same := names(before + change)
		require.NotEqual(t, job, changed, change)
		require.Equal(t, definitions, same, change)
	}
	_, changed := names(strings.Replace(before, "name: acme", "name: acme2", 1))
	require.NotEqual(t, definitions, changed)
}
