package kubernetes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Faults are the rules that objects break.
type Faults struct{ all []error }

func (faults *Faults) check(holds bool, format string, values ...any) {
	if !holds {
		faults.all = append(faults.all, fmt.Errorf(format, values...))
	}
}

// rules returns what is wrong with the objects of one rendering.
func rules(objects *Objects, image *Image, help *Help) error {
	faults := &Faults{}
	faults.check(len(objects.Deployments) == 1, "%d Deployments", len(objects.Deployments))
	faults.check(len(objects.Services) == 1, "%d Services", len(objects.Services))
	if len(faults.all) > 0 {
		return errors.Join(faults.all...)
	}
	deployment, service := objects.Deployments[0], objects.Services[0]
	pod := &deployment.Spec.Template.Spec
	faults.check(len(pod.Containers) == 1 && pod.Containers[0].Name == "salver", "the pod has one container, salver")
	container := &pod.Containers[0]
	faults.security(pod, image)
	faults.settings(container, help)
	faults.memory(container)
	faults.probes(container, image)
	faults.drain(pod, container)
	faults.volumes(objects, pod)
	faults.references(objects, deployment, service)
	return errors.Join(faults.all...)
}

func isTrue(value *bool) bool  { return value != nil && *value }
func isFalse(value *bool) bool { return value != nil && !*value }

// security has every container without rights, as the user of the image.
func (faults *Faults) security(pod *core.PodSpec, image *Image) {
	whole := pod.SecurityContext
	if whole == nil {
		whole = &core.PodSecurityContext{}
	}
	faults.check(isTrue(whole.RunAsNonRoot), "runAsNonRoot is not true")
	faults.check(whole.RunAsUser != nil && *whole.RunAsUser == image.User, "runAsUser is not that of the image, %d", image.User)
	faults.check(whole.SeccompProfile != nil && whole.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault,
		"the seccomp profile is not RuntimeDefault")
	faults.check(isFalse(pod.AutomountServiceAccountToken), "the token of the service account is mounted")
	faults.check(isFalse(pod.EnableServiceLinks), "service links are on: a Service salver-metrics would look like settings")
	faults.check(!pod.HostNetwork && !pod.HostPID && !pod.HostIPC, "the pod shares namespaces of its node")
	for _, one := range slices.Concat(pod.InitContainers, pod.Containers) {
		own := one.SecurityContext
		if own == nil {
			own = &core.SecurityContext{}
		}
		faults.check(isTrue(own.ReadOnlyRootFilesystem), "%s: the root is not read-only", one.Name)
		faults.check(isFalse(own.AllowPrivilegeEscalation), "%s: it may come to more rights", one.Name)
		faults.check(!isTrue(own.Privileged) && own.RunAsUser == nil && own.RunAsNonRoot == nil, "%s: it departs from the pod", one.Name)
		faults.check(own.Capabilities != nil && slices.Equal(own.Capabilities.Drop, []core.Capability{"ALL"}) &&
			len(own.Capabilities.Add) == 0, "%s: it has capabilities", one.Name)
	}
}

// settings has every variable and argument known to the program, once.
func (faults *Faults) settings(container *core.Container, help *Help) {
	seen := map[string]bool{}
	for _, one := range container.Env {
		faults.check(!seen[one.Name], "the variable %s stands there twice", one.Name)
		seen[one.Name] = true
		if strings.HasPrefix(one.Name, "SALVER_") {
			faults.check(help.Variables[one.Name], "no flag has the variable %s", one.Name)
		}
		if field := resourceField(&one); field != nil {
			faults.check(field.ContainerName == container.Name && field.Divisor.String() == "1" && field.Resource == "limits.cpu",
				"%s: %+v", one.Name, field)
		}
	}
	faults.check(len(container.Command) == 0, "the command is that of the image")
	for _, argument := range container.Args {
		if name, isFlag := strings.CutPrefix(argument, "--"); isFlag {
			name, _, _ = strings.Cut(name, "=")
			faults.check(help.Flags[name], "there is no flag --%s", name)
		}
	}
}

func resourceField(variable *core.EnvVar) *core.ResourceFieldSelector {
	if variable.ValueFrom == nil {
		return nil
	}
	return variable.ValueFrom.ResourceFieldRef
}

// value returns a variable's value, or nothing.
func value(container *core.Container, name string) string {
	for _, one := range container.Env {
		if one.Name == name {
			return one.Value
		}
	}
	return ""
}

var sizeText = regexp.MustCompile(`^([0-9]+)(MiB|GiB|KiB|)$`)

// size returns the bytes of a size as Salver has it.
func size(text string) (int64, error) {
	found := sizeText.FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("%q is no size", text)
	}
	number, err := strconv.ParseInt(found[1], 10, 64)
	units := map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	return number * units[found[2]], err
}

// memory leaves the program a fifth of the limit beside the cache and connections.
func (faults *Faults) memory(container *core.Container) {
	limit := container.Resources.Limits.Memory().Value()
	if limit == 0 {
		return
	}
	cache, err := size(value(container, "SALVER_CACHE_SIZE"))
	faults.check(err == nil, "SALVER_CACHE_SIZE: %v", err)
	connections, err := size(value(container, "SALVER_CONNECTION_MEMORY"))
	faults.check(err == nil, "SALVER_CONNECTION_MEMORY: %v", err)
	faults.check(5*(cache+connections) <= 4*limit, "the cache and connections take %d bytes of %d", cache+connections, limit)
}

// probes has all three, by the program of the image or the listener.
func (faults *Faults) probes(container *core.Container, image *Image) {
	for asks, probe := range map[string]*core.Probe{
		"startup live": container.StartupProbe, "readiness ready": container.ReadinessProbe, "liveness live": container.LivenessProbe,
	} {
		name, path, _ := strings.Cut(asks, " ")
		if probe == nil {
			faults.check(false, "there is no %s probe", name)
			continue
		}
		switch {
		case probe.Exec != nil:
			wanted := []string{image.Entrypoint[0], "health"}
			if path == "live" {
				wanted = append(wanted, "--live")
			}
			faults.check(slices.Equal(probe.Exec.Command, wanted), "the %s probe runs %q", name, probe.Exec.Command)
		case probe.HTTPGet != nil:
			faults.check(probe.HTTPGet.Path == "/"+path, "the %s probe asks for %s", name, probe.HTTPGet.Path)
			faults.check(hasPort(container, probe.HTTPGet.Port), "the %s probe asks at no port of the container", name)
		default:
			faults.check(false, "the %s probe does nothing", name)
		}
	}
}

func hasPort(container *core.Container, port intstr.IntOrString) bool {
	return slices.ContainsFunc(container.Ports, func(one core.ContainerPort) bool {
		return one.Name == port.StrVal || port.Type == intstr.Int && one.ContainerPort == port.IntVal
	})
}

// drain has the pod killed after Salver has ended by itself, not before.
func (faults *Faults) drain(pod *core.PodSpec, container *core.Container) {
	drain, err := time.ParseDuration(value(container, "SALVER_DRAIN"))
	faults.check(err == nil, "SALVER_DRAIN: %v", err)
	sleep := preStop(container)
	faults.check(sleep > 0, "no time between the order to end and SIGTERM")
	if pod.TerminationGracePeriodSeconds == nil {
		faults.check(false, "there is no terminationGracePeriodSeconds")
		return
	}
	grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
	faults.check(grace > sleep+drain, "the grace period of %v is no longer than preStop and drain, %v", grace, sleep+drain)
}

func preStop(container *core.Container) time.Duration {
	if container.Lifecycle == nil || container.Lifecycle.PreStop == nil || container.Lifecycle.PreStop.Sleep == nil {
		return 0
	}
	return time.Duration(container.Lifecycle.PreStop.Sleep.Seconds) * time.Second
}

// volumes has each mount lead to a volume and each volume to a mount, and what is served mounted read-only.
func (faults *Faults) volumes(objects *Objects, pod *core.PodSpec) {
	mounted := map[string]bool{}
	volume := func(name string) *core.Volume {
		at := slices.IndexFunc(pod.Volumes, func(one core.Volume) bool { return one.Name == name })
		if at < 0 {
			return nil
		}
		return &pod.Volumes[at]
	}
	for _, one := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, mount := range one.VolumeMounts {
			found := volume(mount.Name)
			faults.check(found != nil, "%s mounts %s, which there is not", one.Name, mount.Name)
			mounted[mount.Name] = true
			faults.check(one.Name != "salver" || mount.ReadOnly, "the server may write to %s", mount.MountPath)
			faults.check(found == nil || found.ConfigMap == nil || mount.SubPath == "", "a ConfigMap by subPath never changes")
		}
	}
	for _, one := range pod.Volumes {
		faults.check(mounted[one.Name], "nobody mounts the volume %s", one.Name)
		faults.check(one.EmptyDir == nil || one.EmptyDir.SizeLimit != nil, "the volume %s has no limit", one.Name)
		if one.ConfigMap == nil {
			continue
		}
		for _, made := range objects.ConfigMaps {
			faults.check(made.Name == one.ConfigMap.Name, "the ConfigMap %s is not mounted", made.Name)
			for _, item := range one.ConfigMap.Items {
				_, there := made.Data[item.Key]
				faults.check(there, "the ConfigMap has no key %s", item.Key)
			}
		}
	}
}

// references has each object name another that there is.
func (faults *Faults) references(objects *Objects, deployment *apps.Deployment, service *core.Service) {
	pod := &deployment.Spec.Template
	container := &pod.Spec.Containers[0]
	matches := func(what string, selector *meta.LabelSelector) {
		parsed, err := meta.LabelSelectorAsSelector(selector)
		faults.check(err == nil && selector != nil && !parsed.Empty() && parsed.Matches(labels.Set(pod.Labels)),
			"the selector of the %s does not match the pods", what)
	}
	matches("Deployment", deployment.Spec.Selector)
	matches("Service", &meta.LabelSelector{MatchLabels: service.Spec.Selector})
	faults.check(len(pod.Spec.TopologySpreadConstraints) > 0, "pods are not spread")
	for _, one := range pod.Spec.TopologySpreadConstraints {
		matches("spread over "+one.TopologyKey, one.LabelSelector)
	}
	for _, port := range service.Spec.Ports {
		faults.check(hasPort(container, port.TargetPort), "the Service leads to the port %s, which there is not", port.TargetPort.String())
	}
	servicePort := func(name string, number int32) bool {
		return slices.ContainsFunc(service.Spec.Ports, func(one core.ServicePort) bool {
			return name != "" && one.Name == name || number != 0 && one.Port == number
		})
	}
	faults.check((len(objects.Autoscalers) > 0) == (deployment.Spec.Replicas == nil), "replicas are said by the Deployment or an autoscaler")
	for _, one := range objects.Autoscalers {
		target := one.Spec.ScaleTargetRef
		faults.check(target.APIVersion == "apps/v1" && target.Kind == "Deployment" && target.Name == deployment.Name, "%s scales %+v", one.Name, target)
		faults.check(len(one.Spec.Metrics) > 0 && one.Spec.MinReplicas != nil && *one.Spec.MinReplicas <= one.Spec.MaxReplicas, "%s scales by nothing", one.Name)
		for _, metric := range one.Spec.Metrics {
			if metric.Resource != nil {
				_, requested := container.Resources.Requests[metric.Resource.Name]
				faults.check(requested, "%s: %s is not requested, of which it is a percentage", one.Name, metric.Resource.Name)
			}
		}
	}
	for _, one := range objects.Budgets {
		matches("PodDisruptionBudget", one.Spec.Selector)
	}
	for _, one := range objects.NetworkPolicies {
		matches("NetworkPolicy", &one.Spec.PodSelector)
		for _, rule := range one.Spec.Ingress {
			for _, port := range rule.Ports {
				faults.check(port.Port != nil && hasPort(container, *port.Port), "the NetworkPolicy names a port that there is not")
			}
		}
	}
	for _, one := range objects.Ingresses {
		for _, rule := range one.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				to := path.Backend.Service
				faults.check(to != nil && to.Name == service.Name && servicePort(to.Port.Name, to.Port.Number), "the Ingress leads nowhere: %+v", to)
			}
		}
	}
	for _, one := range objects.Routes {
		for _, rule := range one.Spec.Rules {
			for _, to := range rule.BackendRefs {
				faults.check(string(to.Name) == service.Name && to.Port != nil && servicePort("", int32(*to.Port)), "the HTTPRoute leads nowhere: %+v", to)
			}
		}
	}
	for _, one := range objects.Monitors {
		selector, err := meta.LabelSelectorAsSelector(&one.Spec.Selector)
		faults.check(err == nil && selector.Matches(labels.Set(service.Labels)), "the ServiceMonitor does not find the Service")
		for _, endpoint := range one.Spec.Endpoints {
			faults.check(servicePort(endpoint.Port, 0), "the ServiceMonitor reads at the port %s, which there is not", endpoint.Port)
			token := secret(container, "SALVER_ADMIN_TOKEN")
			shown := endpoint.Authorization
			faults.check(token != nil && shown != nil && shown.Credentials != nil && shown.Credentials.Name == token.Name &&
				shown.Credentials.Key == token.Key, "the ServiceMonitor shows another token than the server wants")
		}
	}
}

// secret returns what a variable is read from.
func secret(container *core.Container, name string) *core.SecretKeySelector {
	for _, one := range container.Env {
		if one.Name == name && one.ValueFrom != nil {
			return one.ValueFrom.SecretKeyRef
		}
	}
	return nil
}
