//! The three system calls of SCTP that no crate wraps for us, setsockopt, getsockopt and recvmsg, and the registration of a socket with
//! tokio. All `unsafe` of the workspace is in this file, and none of it knows what the octets mean.
//!
//! Called by `connection` and `listener`. sendmsg is that of socket2, which is safe. The crate sctp-rs is not used: it walks over
//! control messages with a pointer that is no msghdr, reads addresses from unaligned octets, cuts messages at 4,096 octets
//! without a word, leaks descriptors to child processes, and panics over a short notification.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use socket2::Socket;
use tokio::io::unix::AsyncFd;

use super::options::SctpOption;

/// Octets of control messages of which the largest, SCTP_RCVINFO, has 28, and their head.
const CONTROL: usize = 128;

/// What one recvmsg has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReadInfo {
    /// Octets of the buffer that were written.
    pub(crate) octets: usize,
    /// MSG_EOR: a message ends here.
    pub(crate) ends: bool,
    /// MSG_NOTIFICATION: the octets are the kernel's own.
    pub(crate) is_notification: bool,
    /// SCTP_RCVINFO (RFC 6458 §5.3.5): the stream, and the payload protocol identifier; of messages only.
    pub(crate) stream: u16,
    pub(crate) payload_protocol: u32,
}

/// Lets tokio say when a socket can be read and written.
#[expect(unsafe_code, reason = "tokio has no type for sockets of SCTP")]
pub(crate) fn register(socket: Socket) -> io::Result<AsyncFd<Socket>> {
    // SAFETY: a `Socket` owns its descriptor, which stays the same and open until it is dropped. It is reached by shared
    // reference only, by which it cannot be replaced.
    let registered = unsafe { AsyncFd::register(socket) };
    Ok(registered?)
}

/// Sets an option at the level of SCTP.
#[expect(unsafe_code, reason = "neither std nor socket2 sets options of SCTP")]
pub(crate) fn set(socket: &impl AsFd, option: SctpOption, value: &[u8]) -> io::Result<()> {
    let descriptor = socket.as_fd().as_raw_fd();
    let length = value.len() as libc::socklen_t;
    // SAFETY: the descriptor is borrowed, so it is open. The kernel reads `length` octets, which are those of `value`, and
    // keeps no address of them; no option of `SctpOption` has an address within its value.
    let result = unsafe {
        libc::setsockopt(
            descriptor,
            libc::IPPROTO_SCTP,
            option as libc::c_int,
            value.as_ptr().cast(),
            length,
        )
    };
    // sctp_connectx answers with the number of the association.
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Asks for an option at the level of SCTP: `value` is the question, and gets the answer, of which the number of octets is
/// given back.
#[expect(
    unsafe_code,
    reason = "neither std nor socket2 asks for options of SCTP"
)]
pub(crate) fn get(socket: &impl AsFd, option: SctpOption, value: &mut [u8]) -> io::Result<usize> {
    let descriptor = socket.as_fd().as_raw_fd();
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the descriptor is borrowed, so it is open. The kernel reads and writes at most `length` octets at `value`, which
    // we alone hold, and writes the number of them to `length`; any octets are good values of u8.
    let result = unsafe {
        libc::getsockopt(
            descriptor,
            libc::IPPROTO_SCTP,
            option as libc::c_int,
            value.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok((length as usize).min(value.len()))
    }
}

/// Reads a message, a part of one, or a notification. No octets and no flag: the association is over.
#[expect(
    unsafe_code,
    reason = "recvmsg of socket2 does not tell MSG_NOTIFICATION"
)]
pub(crate) fn receive(socket: &impl AsFd, buffer: &mut [u8]) -> io::Result<ReadInfo> {
    let descriptor = socket.as_fd().as_raw_fd();
    let mut control = [0_u8; CONTROL];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr is a structure of C for which zeros are a value: no addresses, no octets. Its fields that are private on some
    // systems stay so.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    // SAFETY: the descriptor is borrowed, so it is open. `message` names one buffer and the control octets with their lengths;
    // both outlive the call, and we alone hold them. The kernel keeps no address of them.
    let result = unsafe { libc::recvmsg(descriptor, &raw mut message, 0) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // What was not written is zeros, which are no control message.
    let (stream, payload_protocol) = receive_info(&control).unwrap_or_default();
    Ok(ReadInfo {
        octets: (result as usize).min(buffer.len()),
        ends: message.msg_flags & libc::MSG_EOR != 0,
        is_notification: message.msg_flags & libc::MSG_NOTIFICATION != 0,
        stream,
        payload_protocol,
    })
}

/// Octets of a cmsghdr: length (of the machine's word), level, type.
const HEAD: usize = size_of::<usize>() + 8;

/// A control message of SCTP as the kernel reads it: its head, and its octets filled up to whole words.
pub(crate) fn control_message(kind: i32, octets: &[u8]) -> Vec<u8> {
    let mut control = Vec::with_capacity(aligned(HEAD + octets.len()));
    control.extend_from_slice(&(HEAD + octets.len()).to_ne_bytes());
    control.extend_from_slice(&libc::IPPROTO_SCTP.to_ne_bytes());
    control.extend_from_slice(&kind.to_ne_bytes());
    control.extend_from_slice(octets);
    control.resize(aligned(control.len()), 0);
    control
}

/// The stream and the payload protocol identifier, if the control messages have them.
fn receive_info(mut control: &[u8]) -> Option<(u16, u32)> {
    loop {
        let length = usize::from_ne_bytes(*control.first_chunk()?);
        let number = |at: usize| Some(i32::from_ne_bytes(*control.get(at..)?.first_chunk()?));
        let (level, kind) = (number(size_of::<usize>())?, number(size_of::<usize>() + 4)?);
        let octets = control.get(HEAD..length)?;
        if (level, kind) == (libc::IPPROTO_SCTP, libc::SCTP_RCVINFO) {
            // sctp_rcvinfo: stream, sequence, flags, two octets of nothing, protocol.
            let stream = u16::from_ne_bytes(*octets.first_chunk()?);
            let protocol = u32::from_be_bytes(*octets.get(8..)?.first_chunk()?);
            return Some((stream, protocol));
        }
        control = control.get(aligned(length)..)?;
    }
}

/// Control messages begin at whole words.
fn aligned(length: usize) -> usize {
    length.saturating_add(size_of::<usize>() - 1) & !(size_of::<usize>() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_message_is_found_among_control_messages() {
        let mut info = 5_u16.to_ne_bytes().to_vec();
        info.extend_from_slice(&[0; 6]);
        info.extend_from_slice(&3_u32.to_be_bytes());
        info.resize(28, 0);
        assert_eq!(info.len(), size_of::<libc::sctp_rcvinfo>());
        let mut control = control_message(99, &[1, 2, 3]);
        control.extend(control_message(libc::SCTP_RCVINFO, &info));
        assert_eq!(receive_info(&control), Some((5, 3)));
        for length in 0..control.len() - 17 {
            assert_eq!(receive_info(&control[..length]), None, "{length}");
        }
    }

    /// Lengths of which the next message would be this one again, or far away.
    #[test]
    fn lengths_that_lie_end_the_search() {
        for length in [0, 1, HEAD - 1, usize::MAX, usize::MAX - 7, 64] {
            let mut control = control_message(99, &[0; 8]);
            control[..size_of::<usize>()].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(receive_info(&control), None, "{length}");
        }
    }

    #[test]
    fn a_control_message_has_whole_words() {
        let control = control_message(libc::SCTP_SNDINFO, &[7; 16]);
        assert_eq!(control.len(), aligned(HEAD + 16));
        assert_eq!(control[HEAD..HEAD + 16], [7; 16]);
    }
}
