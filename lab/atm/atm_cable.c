// SPDX-License-Identifier: MIT OR Apache-2.0
// A cable between two ATM interfaces of one machine: a frame sent on a circuit (VPI, VCI)
// of one interface is received on the same circuit of the other.
//
// The kernel's atmtcp cannot open circuits any more: in stable kernels with the following
// fix it refuses the answers of its daemon
// ("atm: atmtcp: Prevent arbitrary write in atmtcp_recv_control()").
//
// A frame for a circuit that is not open, or whose receive buffer is full, is dropped, as on
// a real line.

#include <linux/atmdev.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

/* An open circuit of either interface. */
struct circuit {
	struct list_head list;
	struct atm_vcc *vcc;
};

static LIST_HEAD(circuits);
static DEFINE_SPINLOCK(circuits_lock);
static struct atm_dev *ends[2];

static int cable_open(struct atm_vcc *vcc)
{
	struct circuit *circuit = kzalloc(sizeof(*circuit), GFP_KERNEL);

	if (!circuit)
		return -ENOMEM;
	circuit->vcc = vcc;
	vcc->dev_data = circuit;
	set_bit(ATM_VF_ADDR, &vcc->flags);
	spin_lock_bh(&circuits_lock);
	list_add(&circuit->list, &circuits);
	spin_unlock_bh(&circuits_lock);
	set_bit(ATM_VF_READY, &vcc->flags);
	return 0;
}

static void cable_close(struct atm_vcc *vcc)
{
	struct circuit *circuit = vcc->dev_data;

	clear_bit(ATM_VF_READY, &vcc->flags);
	spin_lock_bh(&circuits_lock);
	list_del(&circuit->list);
	spin_unlock_bh(&circuits_lock);
	kfree(circuit);
	clear_bit(ATM_VF_ADDR, &vcc->flags);
}

/* The circuit at the other end of the cable, with circuits_lock held. */
static struct atm_vcc *far_end(const struct atm_vcc *near)
{
	const struct atm_dev *far = near->dev == ends[0] ? ends[1] : ends[0];
	struct circuit *circuit;

	list_for_each_entry(circuit, &circuits, list) {
		struct atm_vcc *vcc = circuit->vcc;

		if (vcc->dev == far && vcc->vpi == near->vpi &&
		    vcc->vci == near->vci)
			return vcc;
	}
	return NULL;
}

static void deliver(struct atm_vcc *to, const struct sk_buff *frame)
{
	struct sk_buff *copy = skb_copy(frame, GFP_ATOMIC);

	if (!copy)
		return;
	if (!atm_charge(to, copy->truesize)) {
		kfree_skb(copy);
		return;
	}
	ATM_SKB(copy)->vcc = to;
	__net_timestamp(copy);
	to->push(to, copy);
	atomic_inc(&to->stats->rx);
}

static int cable_send(struct atm_vcc *vcc, struct sk_buff *frame)
{
	struct atm_vcc *far;

	spin_lock_bh(&circuits_lock);
	far = far_end(vcc);
	if (far)
		deliver(far, frame);
	spin_unlock_bh(&circuits_lock);
	if (vcc->pop)
		vcc->pop(vcc, frame);
	else
		dev_kfree_skb(frame);
	atomic_inc(&vcc->stats->tx);
	return 0;
}

static const struct atmdev_ops cable_ops = {
	.open = cable_open,
	.close = cable_close,
	.send = cable_send,
	.owner = THIS_MODULE,
};

static void unplug(void)
{
	int end;

	for (end = 0; end < 2; end++)
		if (ends[end])
			atm_dev_deregister(ends[end]);
}

static int __init cable_init(void)
{
	int end;

	for (end = 0; end < 2; end++) {
		ends[end] = atm_dev_register("cable", NULL, &cable_ops, end, NULL);
		if (!ends[end]) {
			unplug();
			return -EBUSY;
		}
		ends[end]->ci_range.vpi_bits = 8;
		ends[end]->ci_range.vci_bits = 16;
		ends[end]->link_rate = ATM_OC3_PCR;
	}
	return 0;
}

module_init(cable_init);
module_exit(unplug);
MODULE_DESCRIPTION("Two ATM interfaces joined by a cable, for tests");
MODULE_LICENSE("Dual MIT/GPL");
