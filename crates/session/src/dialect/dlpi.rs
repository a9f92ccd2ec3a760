//! The link-level tests at netserver (control-protocol.md 2.7.8). No exchange was captured.

use netperf_model::{Address, EndJob, EndResult, Ending, Family, Flow, PlacePlan, TransportId};
use netperf_wire::messages::{
    DlpiClRrRequest, DlpiClRrResponse, DlpiClStreamRequest, DlpiClStreamResults, DlpiCoRrRequest,
    DlpiCoRrResponse, DlpiCoStreamRequest, DlpiCoStreamResponse, DlpiCoStreamResults,
    DlpiRrResults,
};
use netperf_wire::{Frame, RemoteErrno, RequestKind, SwappedBytes};

use super::classic::{
    ClassicRequest, CpuFields, RepeatedFields, both_directions, device, exchange, message,
    response, results, ring, said, time_only, touch,
};
use super::{Ready, to_wire};
use crate::errno;

/// Location of netserver's end.
fn place(
    name: &[u8],
    ppa: i32,
    sap: i32,
    (recv, send): (i32, i32),
) -> Result<PlacePlan, RemoteErrno> {
    // A window of 0 frames would block all data: it stands for no request.
    let window = |frames| u32::try_from(frames).ok().filter(|frames| *frames > 0);
    Ok(PlacePlan {
        device: device(name),
        unit: Some(ppa),
        sap: Some(u8::try_from(sap).map_err(|_| errno::INVALID)?),
        window: window(send),
        recv_window: window(recv),
        ..PlacePlan::default()
    })
}

/// The length of netserver's station address and the address.
fn station(ready: &Ready) -> (i32, SwappedBytes<16>) {
    match &ready.address {
        Some(Address::Link { station, .. }) => (
            to_wire::signed(u32::try_from(station.len()).unwrap_or(0)),
            SwappedBytes::from_bytes_truncated(station),
        ),
        Some(Address::Inet(_) | Address::Unix(_) | Address::Vsock { .. } | Address::Atm { .. })
        | None => (0, SwappedBytes::default()),
    }
}

impl ClassicRequest for DlpiCoStreamRequest {
    fn said(&self) -> RepeatedFields {
        RepeatedFields {
            windows: (self.recv_win_size, self.send_win_size),
            ..said!(self)
        }
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let mut job = said.job(TransportId::Llc2, Flow::SEND, Family::Unspecified);
        let name = self.dlpi_device.as_bytes();
        job.end.place = place(name, self.ppa, self.sap, said.windows)?;
        job.end.recv = ring(self.receive_size, self.recv_alignment, self.recv_offset)?;
        job.end.touch = touch(self.dirty_count, self.clean_count);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        let (station_addr_len, station_addr) = station(ready);
        response! { kind, said, ready => DlpiCoStreamResponse {
            recv_win_size: said.windows.0,
            send_win_size: said.windows.1,
            receive_size: to_wire::size(ready.setup.recv_size),
            test_length: said.test_length,
            data_port_number: to_wire::signed(ready.data_port),
            station_addr_len,
            station_addr,
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::of(result);
        results! { kind, result, cpu => DlpiCoStreamResults {
            bytes_received: to_wire::wrapping_signed(result.tally.bytes_received),
            recv_calls: to_wire::wrapping_signed(result.tally.recv_calls),
            cpu_method: cpu.method,
            ..DlpiCoStreamResults::default()
        } }
    }
}

impl ClassicRequest for DlpiCoRrRequest {
    fn said(&self) -> RepeatedFields {
        RepeatedFields {
            windows: (self.recv_win_size, self.send_win_size),
            ..said!(self)
        }
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let mut job = said.job(TransportId::Llc2, Flow::RR, Family::Unspecified);
        let name = self.dlpi_device.as_bytes();
        job.end.place = place(name, self.ppa, self.sap, said.windows)?;
        exchange!(job, self);
        job.ending = Ending::Silence(None);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        co_rr_response(kind, said, ready)
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        rr_results(kind, result)
    }
}

/// The response of DLPI_CO_RR and DLPI_CL_STREAM.
fn co_rr_response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
    let (station_addr_len, station_addr) = station(ready);
    response! { kind, said, ready => DlpiCoRrResponse {
        recv_win_size: said.windows.0,
        send_win_size: said.windows.1,
        test_length: said.test_length,
        data_port_number: to_wire::signed(ready.data_port),
        station_addr_len,
        station_addr,
    } }
}

/// The results of DLPI_CO_RR and DLPI_CL_RR.
fn rr_results(kind: RequestKind, result: &EndResult) -> Frame {
    let cpu = CpuFields::of(result);
    results! { kind, result, cpu => DlpiRrResults {
        bytes_received: to_wire::wrapping_signed(both_directions(&result.tally)),
        recv_calls: to_wire::wrapping_signed(result.tally.recv_calls),
        trans_received: to_wire::wrapping_signed(result.tally.transactions),
        cpu_method: cpu.method,
        ..DlpiRrResults::default()
    } }
}

impl ClassicRequest for DlpiClStreamRequest {
    fn said(&self) -> RepeatedFields {
        RepeatedFields {
            windows: (self.recv_win_size, -1),
            ..said!(self)
        }
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let size = message(self.message_size)?;
        let mut job = said.job(TransportId::Llc1, Flow::SEND, Family::Unspecified);
        job.limit = time_only(job.limit);
        job.end.place = place(
            self.dlpi_device.as_bytes(),
            self.ppa,
            self.sap,
            said.windows,
        )?;
        job.end.recv = ring(self.message_size, self.recv_alignment, self.recv_offset)?;
        job.ending = Ending::Silence(Some(size));
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        co_rr_response(kind, said, ready)
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        let cpu = CpuFields::or_minus_one(result);
        results! { kind, result, cpu => DlpiClStreamResults {
            messages_recvd: to_wire::wrapping_signed(result.tally.recv_calls),
            bytes_received: to_wire::wrapping_signed(result.tally.bytes_received),
        } }
    }
}

impl ClassicRequest for DlpiClRrRequest {
    fn said(&self) -> RepeatedFields {
        RepeatedFields {
            windows: (self.recv_win_size, self.send_win_size),
            ..said!(self)
        }
    }

    fn job(&self, _kind: RequestKind) -> Result<EndJob, RemoteErrno> {
        let said = self.said();
        let mut job = said.job(TransportId::Llc1, Flow::RR, Family::Unspecified);
        let name = self.dlpi_device.as_bytes();
        job.end.place = place(name, self.ppa, self.sap, said.windows)?;
        exchange!(job, self);
        job.ending = Ending::Silence(None);
        Ok(job)
    }

    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame {
        let (station_addr_len, station_addr) = station(ready);
        response! { kind, said, ready => DlpiClRrResponse {
            recv_win_size: said.windows.0,
            send_win_size: said.windows.1,
            no_delay: 0,
            test_length: said.test_length,
            data_port_number: to_wire::signed(ready.data_port),
            station_addr_len,
            station_addr,
        } }
    }

    fn results(kind: RequestKind, result: &EndResult) -> Frame {
        rr_results(kind, result)
    }
}
