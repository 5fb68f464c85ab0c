# An ESME made with Net::SMPP that says interface_version 3.3: no transceiver, no TLVs. The cases of
# tests/smpp/interop.
#
# Usage: net_smpp_esme.pl HOST PORT SYSTEM_ID PASSWORD
# Prints one JSON object about what it saw; any surprise ends it.

use strict;
use warnings;
use JSON::PP;
use Net::SMPP;

my ($host, $port, $system_id, $password) = @ARGV;
alarm 60;
my (@receipts, @mo);
my $long = '0123456789' x 30;

# Binds, and answers what the SMSC asks meanwhile.
sub bound {
    my ($kind) = @_;
    my $new = "new_$kind";
    my ($session, $answer) = Net::SMPP->$new(
        $host,
        port => $port,
        smpp_version => 0x33,
        interface_version => 0x33,
        system_id => $system_id,
        password => $password,
    ) or die "$kind: no connection";
    die "$kind: $answer->{status}" if $answer->{status};
    return $session;
}

sub submit {
    my ($transmitter, %fields) = @_;
    my $answer = $transmitter->submit_sm(
        source_addr => '12345',
        dest_addr_ton => 1,
        dest_addr_npi => 1,
        destination_addr => '447700900123',
        registered_delivery => 1,
        %fields,
    ) or die 'no answer to submit_sm';
    die "submit_sm: $answer->{status}" if $answer->{status};
    return $answer->{message_id};
}

# Takes deliver_sm until the condition holds.
sub receive_until {
    my ($receiver, $done) = @_;
    until ($done->()) {
        my $pdu = $receiver->read_pdu() or die 'the SMSC has closed';
        if ($pdu->{cmd} == Net::SMPP::CMD_enquire_link) {
            $receiver->enquire_link_resp(seq => $pdu->{seq});
        } elsif ($pdu->{cmd} == Net::SMPP::CMD_deliver_sm) {
            my $text = $pdu->{short_message};
            if (($pdu->{esm_class} & 0x3C) == 4) {
                my ($id, $stat) = $text =~ /id:(\S+) .*stat:(\w+)/ or die $text;
                push @receipts, { id => $id, stat => $stat };
            } else {
                push @mo, { source => $pdu->{source_addr}, text => $text };
            }
            $receiver->deliver_sm_resp(message_id => '', seq => $pdu->{seq});
        }
    }
}

sub told {
    my %told = map { $_->{id} => 1 } @receipts;
    return !grep { !$told{$_} } @_;
}

my $transmitter = bound('transmitter');
my $receiver = bound('receiver');
my $plain = submit($transmitter, short_message => 'hello Net::SMPP');
my @parts = (substr($long, 0, 150), substr($long, 150));
my @long;
for my $number (1 .. @parts) {
    my $header = pack 'C6', 5, 0, 3, 7, scalar @parts, $number;
    push @long, submit(
        $transmitter,
        esm_class => 0x40,
        short_message => $header . $parts[$number - 1],
    );
}
receive_until($receiver, sub { @mo && told($plain, @long) });

# Both connections are dropped, not unbound; the receipt comes by the next one.
my $last = submit($transmitter, short_message => 'before the drop');
close $_ for $transmitter, $receiver;
($transmitter, $receiver) = (bound('transmitter'), bound('receiver'));
receive_until($receiver, sub { told($last) });
my $unbind = 0;
$unbind |= $_->unbind()->{status} for $transmitter, $receiver;

print JSON::PP->new->encode({
    binds => { transmitter => 0, receiver => 0 },
    submit => $plain,
    long => \@long,
    messages => 2 + @long,
    receipts => \@receipts,
    mo => \@mo,
    reconnect => $last,
    unbind => $unbind,
}), "\n";
